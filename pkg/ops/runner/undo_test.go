package runner

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// done is the record of an operation that came to its end.
func done(verb v1alpha1.Verb, fill func(*v1alpha1.Operation)) v1alpha1.Operation {
	op := v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: verb},
		Status: v1alpha1.OperationStatus{Phase: v1alpha1.PhaseSucceeded}}
	op.Name = "op-" + string(verb)
	if fill != nil {
		fill(&op)
	}
	return op
}

func memory(size string, config map[string]string, storage string) *v1alpha1.Settings {
	s := &v1alpha1.Settings{Config: config, Size: resource.MustParse(storage)}
	if size != "" {
		s.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(size)}
	}
	return s
}

// settled is a record of a change of settings, and what it left.
func settled(from *v1alpha1.Settings, change *v1alpha1.SettingsChange) func(*v1alpha1.Operation) {
	return func(op *v1alpha1.Operation) {
		op.Spec.FromSettings, op.Spec.Change, op.Spec.Settings = from, change, from.With(change)
	}
}

func TestUndo(t *testing.T) {
	t.Parallel()
	size := func(from, to int32) func(*v1alpha1.Operation) {
		return func(op *v1alpha1.Operation) { op.Spec.FromMembers, op.Spec.Members = from, to }
	}
	version := func(from, to string) func(*v1alpha1.Operation) {
		return func(op *v1alpha1.Operation) {
			op.Spec.FromVersion, op.Spec.Version, op.Spec.FromImage = from, to, "old-image"
		}
	}
	twoGi := resource.MustParse("2Gi")
	for _, row := range []struct {
		name  string
		of    v1alpha1.Operation
		want  v1alpha1.OperationSpec
		title string
		lost  string
		stays string
	}{
		{name: "growth", of: done(v1alpha1.VerbScale, size(3, 5)),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale, SizeParameters: v1alpha1.SizeParameters{Members: 3},
				Waive: []string{"size"}},
			title: "scale from 5 members back to 3", lost: "the volumes of the members that leave"},
		{name: "shrinking", of: done(v1alpha1.VerbScale, size(3, 1)),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale, SizeParameters: v1alpha1.SizeParameters{Members: 3},
				Waive: []string{"size"}},
			title: "scale from 1 members back to 3", stays: "copy of the others' data"},
		{name: "a join", of: done(v1alpha1.VerbAddMember, func(op *v1alpha1.Operation) {
			size(3, 4)(op)
			op.Status.Journal = []v1alpha1.JournalEntry{{Step: "set-budget"}, {Step: "register-member/db-4"},
				{Step: "start-members/db-4"}}
		}), want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRemoveMember, Member: "db-4",
			Waive: []string{"size"}}, title: "remove db-4", lost: "the volume of db-4"},
		{name: "a removal", of: done(v1alpha1.VerbRemoveMember,
			func(op *v1alpha1.Operation) { size(3, 2)(op); op.Spec.Member = "db-2" }),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbAddMember, SizeParameters: v1alpha1.SizeParameters{Members: 3},
				Waive: []string{"size"}},
			title: "add a member in place of db-2", stays: "the volume of db-2: the new member"},
		{name: "an upgrade", of: done(v1alpha1.VerbUpgrade, version("3.5", "3.6")),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDowngrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "3.5", Image: "old-image"}},
			title: "downgrade from 3.6 back to 3.5"},
		{name: "a downgrade", of: done(v1alpha1.VerbDowngrade, version("3.7", "3.6")),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "3.7", Image: "old-image"}},
			title: "upgrade from 3.6 back to 3.7"},
		{name: "options", of: done(v1alpha1.VerbConfigure, settled(memory("",
			map[string]string{"a": "1", "b": "2", "same": "7"}, "1Gi"),
			&v1alpha1.SettingsChange{Set: map[string]string{"a": "3", "new": "4"}, Unset: []string{"b", "never"}})),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbConfigure, Waive: []string{"size"},
				SettingsParameters: v1alpha1.SettingsParameters{Change: &v1alpha1.SettingsChange{Set: map[string]string{"a": "1",
					"b": "2"},
					Unset: []string{"new"}}}}, title: "go back to the settings from before configure"},
		{name: "memory, with storage that stays", of: done(v1alpha1.VerbResize,
			settled(memory("1Gi", nil, "1Gi"), &v1alpha1.SettingsChange{Size: &twoGi,
				Requests: corev1.ResourceList{corev1.ResourceMemory: twoGi},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: twoGi}})),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbResize, Waive: []string{"size"},
				SettingsParameters: v1alpha1.SettingsParameters{Change: &v1alpha1.SettingsChange{
					Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: {}}}}},
			title: "go back to the settings from before resize", stays: "the size of the volumes, 2Gi"},
		{name: "a stop", of: done(v1alpha1.VerbStop, func(op *v1alpha1.Operation) { op.Spec.FromStopped = new(false) }),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbStart}, title: "start it again"},
		{name: "a start", of: done(v1alpha1.VerbStart, func(op *v1alpha1.Operation) { op.Spec.FromStopped = new(true) }),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbStop}, title: "stop it again", lost: "every connection"},
		{name: "authentication on", of: done(v1alpha1.VerbEnableAuth,
			func(op *v1alpha1.Operation) { op.Spec.FromAuth = new(false) }),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDisableAuth}, title: "let clients in", lost: "the protection",
			stays: "passwords"},
		{name: "authentication off", of: done(v1alpha1.VerbDisableAuth,
			func(op *v1alpha1.Operation) { op.Spec.FromAuth = new(true) }),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbEnableAuth}, title: "demand that clients log in",
			lost: "that don't log in"},
		{name: "a switchover", of: done(v1alpha1.VerbSwitchover,
			func(op *v1alpha1.Operation) { op.Spec.Leader, op.Spec.Member = "db-1", "db-2" }),
			want:  v1alpha1.OperationSpec{Verb: v1alpha1.VerbSwitchover, Member: "db-1"},
			title: "hand leadership back to db-1"},
		{name: "a user", of: done(v1alpha1.VerbCreateUser,
			func(op *v1alpha1.Operation) { op.Spec.User = &v1alpha1.DatabaseUser{Name: "app", ReadOnly: true} }),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbDeleteUser,
				UserParameters: v1alpha1.UserParameters{User: &v1alpha1.DatabaseUser{Name: "app"}}},
			title: "delete user app", lost: "logs in as app"},
		{name: "a new authority", of: done(v1alpha1.VerbRotateCertificates,
			func(op *v1alpha1.Operation) { op.Spec.Rotation = v1alpha1.RotateBegin }),
			want: v1alpha1.OperationSpec{Verb: v1alpha1.VerbRotateCertificates,
				CertificateParameters: v1alpha1.CertificateParameters{Rotation: v1alpha1.RotateAbandon}},
			title: "take the new authority away"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := opstest.Well(3).Cluster
			planner.ApplyTo(c, &row.of)
			u, err := planner.Undo(c, []v1alpha1.Operation{row.of})
			if err != nil {
				t.Fatal(err)
			}
			row.want.Cluster, row.want.Undoes = "db", row.of.Name
			if !equality.Semantic.DeepEqual(u.Operation, row.want) {
				t.Errorf("got  %+v\nwant %+v", u.Operation, row.want)
			}
			if !strings.Contains(u.Title, row.title) || !strings.Contains(strings.Join(u.Lost, ","), row.lost) ||
				!strings.Contains(strings.Join(u.Stays, ","), row.stays) ||
				(row.lost == "") != (len(u.Lost) == 0) || (row.stays == "") != (len(u.Stays) == 0) {
				t.Errorf("title %q, lost %q, stays %q", u.Title, u.Lost, u.Stays)
			}
			row.of.Spec = v1alpha1.OperationSpec{Cluster: "db", Verb: row.of.Spec.Verb,
				UserParameters:        v1alpha1.UserParameters{User: row.of.Spec.User},
				CertificateParameters: v1alpha1.CertificateParameters{Rotation: row.of.Spec.Rotation}}
			switch _, err := planner.Undo(c, []v1alpha1.Operation{row.of}); row.of.Spec.Verb {
			case v1alpha1.VerbCreateUser, v1alpha1.VerbRotateCertificates:
			default:
				if ops.KindOf(err) != ops.Refused || !strings.Contains(err.Error(), "does not say") {
					t.Errorf("a record without what was before: %v", err)
				}
			}
		})
	}
}

func TestUndoRefuses(t *testing.T) {
	t.Parallel()
	grown := done(v1alpha1.VerbScale, func(op *v1alpha1.Operation) { op.Spec.FromMembers, op.Spec.Members = 1, 3 })
	twoGi := resource.MustParse("2Gi")
	replaced := func(op *v1alpha1.Operation) {
		op.Spec.InPlace, op.Spec.Backup, op.Spec.Repository = true, "b1", "dir:/b"
		op.Status.Facts = map[string]string{v1alpha1.FactBackup: "b1"}
	}
	for _, row := range []struct {
		name    string
		records []v1alpha1.Operation
		cluster func(*v1alpha1.DatabaseCluster)
		kind    ops.Kind
		says    string
		hint    string
	}{
		{name: "no record", kind: ops.Refused, says: "nothing is recorded", hint: "kubectl dbop history db"},
		{name: "in flight", records: []v1alpha1.Operation{done(v1alpha1.VerbScale,
			func(op *v1alpha1.Operation) { op.Status.Phase = v1alpha1.PhasePaused }), grown},
			kind: ops.Busy, says: "scale (op-scale) of db is not finished", hint: "kubectl dbop cancel db"},
		{name: "changed by hand since", records: []v1alpha1.Operation{grown},
			cluster: func(c *v1alpha1.DatabaseCluster) { c.Spec.Members = 5 },
			kind:    ops.Refused, says: "not any more what scale (op-scale) left"},
		{name: "another operation since", records: []v1alpha1.Operation{done(v1alpha1.VerbRestart, nil), grown},
			kind: ops.Refused, says: "restart changed nothing"},
		{name: "undone already", records: []v1alpha1.Operation{done(v1alpha1.VerbScale,
			func(op *v1alpha1.Operation) { op.Spec.Undoes = "op-7" }), grown},
			kind: ops.Refused, says: "took back another (op-7) already"},
		{name: "a cluster of that name before", records: []v1alpha1.Operation{grown},
			cluster: func(c *v1alpha1.DatabaseCluster) { c.CreationTimestamp = metav1.Unix(9, 0) },
			kind:    ops.Refused, says: "nothing is recorded"},
		{name: "failed", records: []v1alpha1.Operation{done(v1alpha1.VerbScale,
			func(op *v1alpha1.Operation) {
				op.Status.Phase = v1alpha1.PhaseFailed
			})}, kind: ops.Refused, says: "nothing is recorded"},
		{name: "create", records: []v1alpha1.Operation{done(v1alpha1.VerbCreate, nil)}, kind: ops.Refused,
			says: "was created", hint: "kubectl dbop history db"},
		{name: "restore", records: []v1alpha1.Operation{done(v1alpha1.VerbRestore, nil)}, kind: ops.Refused,
			says: "made from a backup", hint: "kubectl dbop history db"},
		{name: "restore in place from where nobody knows", kind: ops.Refused,
			records: []v1alpha1.Operation{done(v1alpha1.VerbRestore, replaced)},
			says:    "replaced the data",
			hint:    "kubectl dbop restore db --in-place --from b1 --repository dir:/b"},
		{name: "the same without a backup", records: []v1alpha1.Operation{done(v1alpha1.VerbRestore,
			func(op *v1alpha1.Operation) {
				replaced(op)
				op.Status.Facts = map[string]string{v1alpha1.FactKept: "db-1 db-2"}
			})}, kind: ops.Refused, says: "replaced the data", hint: "no backup was taken before; the data of before is in " +
			"its volumes, which restore left as they were: kubectl get pvc db-1 db-2"},
		{name: "recover", records: []v1alpha1.Operation{done(v1alpha1.VerbRecover, nil)}, kind: ops.Refused,
			says: "replaced the data", hint: "history"},
		{name: "replacement", records: []v1alpha1.Operation{done(v1alpha1.VerbReplaceMember,
			func(op *v1alpha1.Operation) { op.Spec.Member = "db-2" })}, kind: ops.Refused,
			says: "what db-2 had before is gone"},
		{name: "deleted user", records: []v1alpha1.Operation{done(v1alpha1.VerbDeleteUser,
			func(op *v1alpha1.Operation) { op.Spec.User = &v1alpha1.DatabaseUser{Name: "app"} })},
			kind: ops.Refused, says: "password of app", hint: "kubectl dbop user create db app"},
		{name: "a user who was there", records: []v1alpha1.Operation{done(v1alpha1.VerbCreateUser,
			func(op *v1alpha1.Operation) {
				op.Spec.User, op.Spec.FromUser = &v1alpha1.DatabaseUser{Name: "app"}, true
			})}, kind: ops.Refused, says: "nothing to take back"},
		{name: "passwords", records: []v1alpha1.Operation{done(v1alpha1.VerbRotateCredentials, nil)}, kind: ops.Refused,
			says: "does not come back", hint: "user rotate db"},
		{name: "certificates", records: []v1alpha1.Operation{done(v1alpha1.VerbRotateCertificates, nil)}, kind: ops.Refused,
			says: "do not come back", hint: "certificates rotate db"},
		{name: "volumes only", records: []v1alpha1.Operation{done(v1alpha1.VerbResize,
			settled(memory("", nil, "1Gi"), &v1alpha1.SettingsChange{Size: &twoGi}))},
			kind: ops.Refused, says: "can't make one smaller", hint: "--storage 1Gi"},
		{name: "started though it ran", records: []v1alpha1.Operation{done(v1alpha1.VerbStart,
			func(op *v1alpha1.Operation) {
				op.Spec.FromStopped = new(
					false)
			})}, kind: ops.Refused, says: "nothing to take back"},
		{name: "demanded already", records: []v1alpha1.Operation{done(v1alpha1.VerbEnableAuth,
			func(op *v1alpha1.Operation) { op.Spec.FromAuth = new(true) })}, kind: ops.Refused, says: "nothing to take back"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := opstest.Well(3).Cluster
			if row.cluster != nil {
				row.cluster(c)
			}
			u, err := planner.Undo(c, row.records)
			e, ok := errors.AsType[*ops.Error](err)
			if !ok || e.Kind != row.kind || !strings.Contains(e.Message, row.says) || !strings.Contains(e.Hint, row.hint) ||
				e.Hint == "" {
				t.Errorf("got %+v, %+v", u, err)
			}
		})
	}
}

// TestUndoLooksPast what changed nothing, and lifts a pause before anything else.
func TestUndoLooksPast(t *testing.T) {
	t.Parallel()
	c := opstest.Well(3).Cluster
	records := []v1alpha1.Operation{done(v1alpha1.VerbBackup, nil),
		done(v1alpha1.VerbUpgrade, func(op *v1alpha1.Operation) { op.Status.Phase = v1alpha1.PhaseCancelled }),
		done(v1alpha1.VerbScale, func(op *v1alpha1.Operation) { op.Spec.FromMembers, op.Spec.Members = 1, 3 })}
	if u, err := planner.Undo(c, records); err != nil || u.Of.Spec.Verb != v1alpha1.VerbScale {
		t.Errorf("%+v, %v", u, err)
	}
	c.Spec.Paused = true
	if u, err := planner.Undo(c, records); err != nil || u.Of != nil || u.Operation.Verb != "" {
		t.Errorf("paused: %+v, %v", u, err)
	}
}

func TestRunnerUndoes(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		ctx := context.Background()
		if _, err := r.Run(ctx, "shop", scale(5)); err != nil {
			t.Fatal(err)
		}
		way := func() planner.Request {
			records, _ := sh.ListOperations(ctx, "", "")
			u, err := planner.Undo(sh.cluster, records)
			if err != nil {
				t.Fatal(err)
			}
			return planner.Request{Operation: u.Operation}
		}
		first := way()
		// Somebody scales on between the observation and the lease.
		if _, err := r.Run(ctx, "shop", scale(7)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Run(ctx, "shop", first); ops.KindOf(err) != ops.Refused ||
			!strings.Contains(err.Error(), "changed by somebody else") {
			t.Errorf("undone although it was not the last any more: %v", err)
		}
		// It dies in the middle, and the same command goes on.
		stop := make(chan struct{})
		r.Stop = stop
		r.FailPoint = func(when string, _ ops.Step) {
			if when == "after" {
				close(stop)
			}
		}
		if _, err := r.Run(ctx, "shop", way()); ops.KindOf(err) != ops.Interrupted {
			t.Fatal(err)
		}
		r.Stop, r.FailPoint = nil, nil
		again := way()
		op, err := r.Run(ctx, "shop", again)
		if err != nil || sh.cluster.Spec.Members != 5 || op.Spec.Undoes != "db.op-1" || len(sh.operations) != 3 {
			t.Errorf("%v, %+v", err, op)
		}
		if _, err := r.Run(ctx, "shop", again); ops.KindOf(err) != ops.Refused ||
			!strings.Contains(err.Error(), "already") {
			t.Errorf("done, typed again: %v", err)
		}
	})
}
