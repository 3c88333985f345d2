package policy

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// charged is a custom resource of a cluster at rest, and the record that belongs to it.
func charged() Input {
	record := opstest.Well(3).Cluster
	custom := &v1alpha1.DatabaseCluster{Spec: *record.Spec.DeepCopy()}
	custom.Name, custom.Namespace, custom.UID = "db", "shop", types.UID("uid")
	record.UID = "record"
	Link(record, custom, "definition")
	return Input{Custom: custom, Record: record, Definition: "definition"}
}

// asking are two objects that ask for a backup, the older one first.
func asking() []v1alpha1.DatabaseBackup {
	var out []v1alpha1.DatabaseBackup
	for _, name := range []string{"first", "second"} {
		b := v1alpha1.DatabaseBackup{Spec: v1alpha1.DatabaseBackupSpec{Cluster: "db"}}
		b.Name, b.UID = name, types.UID("uid-of-"+name)
		out = append(out, b)
	}
	return out
}

// of is an operation that an object asked for, halted one that came to a halt.
func of(op *v1alpha1.Operation) *v1alpha1.Operation {
	op.Spec.Object = "uid-of-first"
	return op
}

func halted(op *v1alpha1.Operation) *v1alpha1.Operation {
	op.Status.Phase, op.Status.StartedAt = v1alpha1.PhasePaused, metav1.NewTime(opstest.Now())
	return of(op)
}

// founding is a cluster that has not formed yet, with its creation in flight.
func founding(g *Input) {
	g.Record.Status.Bootstrap.ClusterID, g.Active = "", opstest.Operation(v1alpha1.VerbCreate)
	g.Active.Spec.RequestedBy, g.Active.Spec.Repository = planner.DesiredBy, "pvc:backups"
}

// told is a move in a word.
func told(m NextAction, err error) string {
	out := "observe "
	switch {
	case m.Request != nil:
		out = string(m.Request.Operation.Verb) + " "
	case m.Back:
		out = "continue back "
	case m.Continue:
		out = "continue "
	case m.Link:
		out = "link "
	case m.SyncSettings:
		out = "inherit "
	case m.Confirm:
		out = "confirm "
	case m.Rest:
		out = "rest "
	}
	if e, ok := errors.AsType[*ops.Error](err); ok {
		return out + "refused by " + e.Check
	}
	if err != nil {
		return out + "refused by " + ops.Refusal(err).Check
	}
	return out
}

func TestNext(t *testing.T) {
	t.Parallel()
	running := func(verb v1alpha1.Verb) *v1alpha1.Operation {
		op := opstest.Operation(verb)
		op.Spec.Members, op.Spec.FromMembers, op.Spec.Repository = 3, 3, "pvc:backups"
		return op
	}
	for _, row := range []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"at rest", func(*Input) {}, "observe "},
		{"neither object nor record", func(g *Input) { g.Custom, g.Record = nil, nil }, "rest "},
		{"a cluster of the command line", func(g *Input) { g.Custom, g.Record.Annotations = nil, nil }, "rest "},
		{"a record that can't be read", func(g *Input) { g.Record, g.Damaged = nil, store.ErrDamaged },
			"rest refused by record-damaged"},
		{"a record that can't be read, without an object", func(g *Input) {
			g.Custom, g.Record, g.Damaged = nil, nil,
				store.ErrDamaged
		}, "rest "},
		{"a new object", func(g *Input) { g.Record = nil }, "create "},
		{"a new object, restored", func(g *Input) {
			g.Record, g.Custom.Spec.RestoreFrom = nil, &v1alpha1.RestoreSource{Repository: "pvc:b", Backup: "b"}
		}, "restore "},
		{"written down, and its writer died", func(g *Input) { g.Record.Status.Bootstrap.ClusterID = "" }, "create "},
		{"formed, and its operation was lost before the users", func(g *Input) {
			g.Record.Status.Bootstrap.Unfinished, g.Record.Spec.Auth.Enabled, g.Custom.Spec.Auth.Enabled = true, true, true
		}, "create "},
		{"formed, its operation was lost before the users, and it was stopped", func(g *Input) {
			g.Record.Status.Bootstrap.Unfinished, g.Record.Spec.Auth.Enabled, g.Custom.Spec.Auth.Enabled = true, true, true
			g.Record.Spec.Stopped, g.Custom.Spec.Stopped = true, true
		}, "observe "},
		{"formed, its operation was lost before the users, and it is to start", func(g *Input) {
			g.Record.Status.Bootstrap.Unfinished, g.Record.Spec.Auth.Enabled, g.Custom.Spec.Auth.Enabled = true, true, true
			g.Record.Spec.Stopped = true
		}, "start "},
		{"formed, and users are not wanted any more", func(g *Input) { g.Record.Status.Bootstrap.Unfinished = true },
			"observe "},
		{"written down, its writer died, and edited", func(g *Input) {
			g.Record.Status.Bootstrap.ClusterID, g.Custom.Spec.Members = "", 5
		}, "create "},
		{"written down, its writer died, and paused", func(g *Input) {
			g.Record.Status.Bootstrap.ClusterID, g.Custom.Spec.Paused, g.Record.Spec.Paused = "", true, true
		}, "observe "},
		{"a new object, paused", func(g *Input) { g.Record, g.Custom.Spec.Paused = nil, true }, "rest "},
		{"a new object while the former cluster of its name goes",
			func(g *Input) { g.Record, g.Active = nil, running(v1alpha1.VerbDelete) }, "continue "},
		{"a name that the command line took", func(g *Input) { g.Record.Annotations = nil }, "rest refused by name-taken"},
		{"an object that was applied again", func(g *Input) { g.Custom.UID = "other" }, "link "},
		{"an object that was applied again, and wants something else",
			func(g *Input) { g.Custom.UID, g.Custom.Spec.Members = "other", 5 }, "link "},
		{"an object whose definition was not known", func(g *Input) {
			delete(g.Record.Annotations,
				v1alpha1.AnnotationDefinition)
		}, "link "},
		{"an object that a new definition serves", func(g *Input) { g.Definition = "other" }, "link "},
		{"an object whose definition nobody asked for", func(g *Input) { g.Definition = "" }, "observe "},
		{"an object that is going", func(g *Input) { g.Custom.DeletionTimestamp = &metav1.Time{Time: opstest.Now()} },
			"rest "},
		{"a difference", func(g *Input) { g.Custom.Spec.Members = 5 }, "scale "},
		{"a difference that can't be", func(g *Input) { g.Custom.Spec.TLS.Disabled = true }, "observe refused by tls"},
		{"what counts at once comes first", func(g *Input) { g.Custom.Spec.Members, g.Custom.Spec.Registry = 5, "mirror" },
			"inherit "},
		{"paused", func(g *Input) { g.Custom.Spec.Paused, g.Custom.Spec.Members = true, 5 }, "inherit "},
		{"paused, and written down", func(g *Input) {
			g.Custom.Spec.Paused, g.Record.Spec.Paused,
				g.Custom.Spec.Members = true, true, 5
		}, "observe "},
		{"an operation in flight", func(g *Input) { g.Active = running(v1alpha1.VerbRestart) }, "continue "},
		{"an operation in flight goes before a difference", func(g *Input) {
			g.Active,
				g.Custom.Spec.Members = running(v1alpha1.VerbRestart), 5
		}, "continue "},
		{"a founding, and nothing to correct", func(g *Input) { founding(g) }, "continue "},
		{"a founding, and another image", func(g *Input) { founding(g); g.Custom.Spec.Image = "mirror/etcd:1" },
			"inherit "},
		{"a founding, and another version", func(g *Input) { founding(g); g.Custom.Spec.Version = "3.6.1" }, "inherit "},
		{"a founding, and another registry", func(g *Input) { founding(g); g.Custom.Spec.Registry = "mirror" }, "inherit "},
		{"a founding, and another number of members", func(g *Input) { founding(g); g.Custom.Spec.Members = 5 },
			"continue "},
		{"a founding without volumes, and another size",
			func(g *Input) { founding(g); g.Custom.Spec.Storage.Size.Add(resource.MustParse("1Gi")) }, "inherit "},
		{"a founding with volumes, and another size", func(g *Input) {
			founding(g)
			g.Active.Status.Journal = []v1alpha1.JournalEntry{{Step: "start-members/db-1"}}
			g.Custom.Spec.Storage.Size.Add(resource.MustParse("1Gi"))
		}, "continue "},
		{"a founding in a pause, and another image", func(g *Input) {
			founding(g)
			g.Custom.Spec.Paused, g.Record.Spec.Paused, g.Custom.Spec.Image = true, true, "mirror/etcd:1"
		}, "rest "},
		{"a restored founding whose data is there, and another version", func(g *Input) {
			founding(g)
			g.Record.Status.Bootstrap.Loaded, g.Custom.Spec.Version = true, "3.6.1"
		}, "continue "},
		{"an operation of a cluster that formed, and another registry", func(g *Input) {
			g.Active, g.Custom.Spec.Registry = running(v1alpha1.VerbRestart), "mirror"
		}, "continue "},
		{"an operation that nobody wants any more", func(g *Input) {
			g.Active = running(v1alpha1.VerbScale)
			g.Active.Spec.Members, g.Record.Spec.Members = 5, 5
		}, "continue back "},
		{"an operation, and a pause", func(g *Input) {
			g.Active,
				g.Custom.Spec.Paused = running(v1alpha1.VerbRestart), true
		},
			"inherit "},
		{"an operation in a pause", func(g *Input) {
			g.Active, g.Custom.Spec.Paused, g.Record.Spec.Paused = running(v1alpha1.VerbRestart), true, true
		}, "rest "},
		{"the end of a pause", func(g *Input) { g.Active, g.Record.Spec.Paused = running(v1alpha1.VerbRestart), true },
			"inherit "},
		{"an object that asks for a backup", func(g *Input) { g.Backups = asking() }, "backup "},
		{"one, and a difference", func(g *Input) { g.Backups, g.Custom.Spec.Members = asking(), 5 }, "backup "},
		{"one, and a difference that can't be", func(g *Input) { g.Backups, g.Custom.Spec.TLS.Disabled = asking(), true },
			"backup "},
		{"one, and what counts at once", func(g *Input) { g.Backups, g.Custom.Spec.Registry = asking(), "mirror" },
			"inherit "},
		{"one, and an operation in flight", func(g *Input) {
			g.Backups, g.Active = asking(),
				running(v1alpha1.VerbRestart)
		},
			"continue "},
		{"one, and a pause", func(g *Input) {
			g.Backups, g.Custom.Spec.Paused, g.Record.Spec.Paused = asking(),
				true, true
		},
			"observe "},
		{"one, of a cluster that has not formed", func(g *Input) {
			g.Backups, g.Record.Status.Bootstrap.ClusterID = asking(),
				""
		}, "create "},
		{"one, of a cluster that is to be", func(g *Input) { g.Backups, g.Record = asking(), nil }, "create "},
		{"one, of a cluster that is going", func(g *Input) {
			g.Backups, g.Custom.DeletionTimestamp = asking(),
				&metav1.Time{Time: opstest.Now()}
		}, "rest "},
		{"one, of a cluster that was deleted", func(g *Input) { g.Backups = asking(); deletedAndConfirmed(g) }, "delete "},
		{"one, of a cluster of the command line", func(g *Input) {
			g.Backups, g.Custom, g.Record.Annotations = asking(), nil,
				nil
		}, "rest "},
		{"one, of a name that the command line took", func(g *Input) { g.Backups, g.Record.Annotations = asking(), nil },
			"rest refused by name-taken"},
		{"a backup whose object is gone", func(g *Input) { g.Backup, g.Orphan = of(running(v1alpha1.VerbBackup)), true },
			"continue back "},
		{"a backup whose object is gone, given up already", func(g *Input) {
			g.Backup, g.Orphan = of(running(v1alpha1.VerbBackup)), true
			g.Backup.Status.Phase = v1alpha1.PhaseCancelling
		}, "continue "},
		{"a backup that came to a halt", func(g *Input) {
			g.Backup, g.Now = halted(running(v1alpha1.VerbBackup)), opstest.Now().Add(askedPatience)
		}, "continue "},
		{"a backup that came to a halt long ago", func(g *Input) {
			g.Backup, g.Now = halted(running(v1alpha1.VerbBackup)), opstest.Now().Add(askedPatience+time.Second)
		}, "continue back "},
		{"a long backup", func(g *Input) {
			g.Backup, g.Now = halted(running(v1alpha1.VerbBackup)), opstest.Now().Add(24*time.Hour)
			g.Backup.Status.Phase = v1alpha1.PhaseRunning
		}, "continue "},
		{"a person's backup that came to a halt long ago", func(g *Input) {
			g.Backup, g.Now = halted(running(v1alpha1.VerbBackup)), opstest.Now().Add(24*time.Hour)
			g.Backup.Spec.Object = ""
		}, "continue "},
		{"a backup whose object is gone, in a pause", func(g *Input) {
			g.Backup, g.Orphan, g.Custom.Spec.Paused, g.Record.Spec.Paused = of(running(v1alpha1.VerbBackup)),
				true, true, true
		}, "observe "},
		{"a backup, and a difference", func(g *Input) { g.Backup, g.Custom.Spec.Members = running(v1alpha1.VerbBackup), 5 },
			"scale "},
		{"a backup, and a difference that just could not begin beside it", func(g *Input) {
			g.Backup, g.Custom.Spec.Members, g.Hindered = running(v1alpha1.VerbBackup), 5, true
		}, "continue "},
		{"a backup, and a difference that can't be", func(g *Input) {
			g.Backup, g.Custom.Spec.TLS.Disabled = running(v1alpha1.VerbBackup), true
		}, "continue "},
		{"a backup, and an operation", func(g *Input) {
			g.Backup, g.Active = of(running(v1alpha1.VerbBackup)), running(v1alpha1.VerbRestart)
		}, "continue "},
		{"a backup whose object is gone, and an operation", func(g *Input) {
			g.Backup, g.Orphan, g.Active = of(running(v1alpha1.VerbBackup)), true, running(v1alpha1.VerbRestart)
		}, "continue "},
		{"a backup, and another one that is asked for", func(g *Input) {
			g.Backup, g.Backups = running(v1alpha1.VerbBackup), asking()
		}, "continue "},
		{"a backup, and what counts at once", func(g *Input) {
			g.Backup, g.Custom.Spec.Registry = running(v1alpha1.VerbBackup), "mirror"
		}, "inherit "},
		{"a backup of a cluster that was deleted", func(g *Input) {
			deletedAndConfirmed(g)
			g.Backup = running(v1alpha1.VerbBackup)
		}, "delete "},
		{"deleted, and only the record of that is left", func(g *Input) {
			g.Custom, g.Record, g.Active = nil, nil, running(v1alpha1.VerbDelete)
			g.Active.Spec.RequestedBy = planner.DesiredBy
		}, "continue "},
		{"somebody else deleted, and only the record of that is left",
			func(g *Input) { g.Custom, g.Record, g.Active = nil, nil, running(v1alpha1.VerbDelete) }, "rest "},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := charged()
			row.change(&g)
			if got := told(Next(g)); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	g := charged()
	g.Record = nil
	m, err := Next(g)
	if err != nil {
		t.Fatal(err)
	}
	random := bytes.NewReader(bytes.Repeat([]byte{7}, 64))
	if err := Complete(opstest.Stub{}, m.Request, opstest.Now(), random); err != nil ||
		len(m.Request.Cluster.Status.Bootstrap.Members) != 3 {
		t.Errorf("%v, %+v", err, m.Request.Cluster.Status.Bootstrap)
	}
	if m.Request.Cluster.Annotations[v1alpha1.AnnotationCustom] != "uid" {
		t.Error("the record does not say whose it is")
	}
	r := &planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Repository: "pvc:backups"}}
	if err := Complete(opstest.Stub{}, r, opstest.Now(), random); err != nil ||
		r.Operation.Backup != "db-20300102T030405Z-0707" {
		t.Errorf("%v, %q", err, r.Operation.Backup)
	}
	if Complete(opstest.Stub{}, r, opstest.Now().Add(time.Hour), nil) != nil ||
		r.Operation.Backup != "db-20300102T030405Z-0707" {
		t.Errorf("a name was chosen twice: %q", r.Operation.Backup)
	}
}

// TestCompleteLeavesFounded: a cluster that is written down keeps its identity, whatever is missing of it.
func TestCompleteLeavesFounded(t *testing.T) {
	c := opstest.Well(3).Cluster
	before := c.DeepCopy()
	r := &planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbCreate}, Cluster: c}
	if err := Complete(opstest.Stub{}, r, opstest.Now(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, c); diff != "" {
		t.Error(diff)
	}
}
