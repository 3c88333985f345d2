package executor

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// deed is one action, and the world before it.
type deed struct {
	prepare func(b *opstest.Bench)
	step    ops.Step
	// appears and goes are the objects by which the action is known to have happened.
	appears, goes []string
	// writes is how many there are, so that a crash at each is tried.
	writes int
}

func deeds() map[string]deed {
	formed := func(b *opstest.Bench) { b.Founded(2, "id"); running(b, "db-1", "db-2") }
	founding := func(b *opstest.Bench) { b.Founded(2, ""); running(b, "db-1", "db-2") }
	return map[string]deed{
		"certificates": {func(b *opstest.Bench) { b.Founded(2, "") }, ops.Step{Action: ops.ActionCertificates},
			[]string{"Secret/db-ca", "Secret/db-admin-tls", "Secret/db-client-tls"}, nil, 3},
		"services": {func(b *opstest.Bench) { b.Founded(2, "") }, ops.Step{Action: ops.ActionServices},
			[]string{"Service/db", "Service/db-client"}, nil, 2},
		"budget": {func(b *opstest.Bench) { b.Founded(2, "") }, ops.Step{Action: ops.ActionBudget, Budget: 2},
			[]string{"PodDisruptionBudget/db"}, nil, 1},
		"no budget": {func(b *opstest.Bench) {
			b.Must(workload.ApplyBudget(b.T.Context(), b.Client(), b.Founded(2, ""), 2))
		}, ops.Step{Action: ops.ActionBudget}, nil, []string{"PodDisruptionBudget/db"}, 1},
		"start": {func(b *opstest.Bench) {
			b.Must(pki.EnsureCertificates(b.T.Context(), b.Client(), b.Founded(2, "")))
		}, ops.Step{Action: ops.ActionStart, Members: []string{"db-1", "db-2"}},
			[]string{"Secret/db-1-tls", "Secret/db-2-tls", "PersistentVolumeClaim/db-1", "PersistentVolumeClaim/db-2",
				"StatefulSet/db-1", "StatefulSet/db-2"}, nil, 6},
		"seal": {founding, ops.Step{Action: ops.ActionDisableBootstrap, Members: []string{"db-1", "db-2"}}, nil, nil, 2},
		"record formation": {func(b *opstest.Bench) {
			founding(b)
		}, ops.Step{Action: ops.ActionRecordFormed}, nil, nil, 3},
		"retire": {formed, ops.Step{Action: ops.ActionRetire, Members: []string{"db-2"}}, nil,
			[]string{"StatefulSet/db-2", "Pod/db-2-0", "Secret/db-2-tls", "PersistentVolumeClaim/db-2"}, 4},
		"stop": {formed, ops.Step{Action: ops.ActionStop, Members: []string{"db-1", "db-2"}}, nil,
			[]string{"StatefulSet/db-1", "Pod/db-1-0", "StatefulSet/db-2", "Pod/db-2-0"}, 4},
		"delete volumes": {formed, ops.Step{Action: ops.ActionDeleteVolume, Members: []string{"db-1", "db-2"}}, nil,
			[]string{"PersistentVolumeClaim/db-1", "PersistentVolumeClaim/db-2"}, 2},
		"delete objects": {func(b *opstest.Bench) {
			formed(b)
			b.Must(workload.ApplyServices(b.T.Context(), b.Client(), b.Cluster(), b.Database.Ports(nil)))
			b.Must(workload.ApplyBudget(b.T.Context(), b.Client(), b.Cluster(), 2))
		}, ops.Step{Action: ops.ActionDeleteAll}, nil, []string{"PodDisruptionBudget/db", "StatefulSet/db-1",
			"StatefulSet/db-2", "Pod/db-1-0", "Pod/db-2-0", "Service/db",
			"Service/db-client", "Secret/db-ca", "Secret/db-admin-tls", "Secret/db-client-tls", "Secret/db-1-tls",
			"Secret/db-2-tls"}, 12},
		"begin incarnation": {func(b *opstest.Bench) {
			formed(b)
			b.Op = opstest.Operation(v1alpha1.VerbRestore)
			b.Op.Spec.Source = &v1alpha1.BackupSource{Repository: "dir:/backups", Backup: "b1"}
		}, ops.Step{Action: ops.ActionNewIncarnation}, nil, nil, 1},
		"upgrade": {func(b *opstest.Bench) {
			formed(b)
			c := b.Cluster()
			c.Spec.Version = "1.2.0"
			b.Must(b.Store().UpdateCluster(b.T.Context(), c))
		}, ops.Step{Action: ops.ActionUpgrade, Members: []string{"db-2"}}, nil, []string{"Pod/db-2-0"}, 2},
		"grow": {func(b *opstest.Bench) {
			formed(b)
			c := b.Cluster()
			c.Spec.Storage.Size = resource.MustParse("64Gi")
			b.Must(b.Store().UpdateCluster(b.T.Context(), c))
		}, ops.Step{Action: ops.ActionGrow, Members: []string{"db-1", "db-2"}}, nil, nil, 2},
		"roll": {func(b *opstest.Bench) {
			formed(b)
			c := b.Cluster()
			c.Spec.Config = map[string]string{"speed": "high"}
			b.Must(b.Store().UpdateCluster(b.T.Context(), c))
		}, ops.Step{Action: ops.ActionRoll, Members: []string{"db-2"}}, nil, []string{"Pod/db-2-0"}, 2},
		"restart": {func(b *opstest.Bench) {
			formed(b)
			asksRestart(b, "db-2")
		}, ops.Step{Action: ops.ActionRestart, Members: []string{"db-2"}}, nil, []string{"Pod/db-2-0"}, 1},
		"restart what another version rendered": {func(b *opstest.Bench) {
			formed(b)
			asksRestart(b, "db-2")
			renderedElsewhere(b, "db-2")
		}, ops.Step{Action: ops.ActionRestart, Members: []string{"db-2"}}, nil, []string{"Pod/db-2-0"}, 2},
		"revive": {formed, ops.Step{Action: ops.ActionRevive, Members: []string{"db-2"}}, nil, []string{"Pod/db-2-0"}, 1},
		"renew certificate": {func(b *opstest.Bench) {
			rotating(b, v1alpha1.RotateLeaves)
		}, ops.Step{Action: ops.ActionRenew, Secret: "db-2-tls", Members: []string{"db-2"}}, nil, nil, 2},
		"renew a certificate that is gone": {func(b *opstest.Bench) {
			rotating(b, v1alpha1.RotateLeaves)
			b.Must(b.Server.Raw.Delete(b.T.Context(), &corev1.Secret{ObjectMeta: opstest.Object("db-client-tls", nil)}))
		}, ops.Step{Action: ops.ActionRenew, Secret: "db-client-tls"}, []string{"Secret/db-client-tls"}, nil, 1},
		"add authority": {func(b *opstest.Bench) { rotating(b, v1alpha1.RotateBegin) },
			ops.Step{Action: ops.ActionAddCA}, nil, nil, 1},
		"distribute trust": {func(b *opstest.Bench) { trusting(b) },
			ops.Step{Action: ops.ActionTrust}, nil, nil, 4},
		"promote authority": {func(b *opstest.Bench) { trusting(b) },
			ops.Step{Action: ops.ActionPromoteCA}, nil, nil, 1},
		"drop authority": {func(b *opstest.Bench) { trusting(b) },
			ops.Step{Action: ops.ActionDropCA}, nil, nil, 1},
		"replace an authority that members trust": {func(b *opstest.Bench) { withoutAuthority(b, true) },
			ops.Step{Action: ops.ActionRestoreCA}, []string{"Secret/db-ca"}, nil, 1},
		"replace an authority of unknown identity": {func(b *opstest.Bench) { withoutAuthority(b, false) },
			ops.Step{Action: ops.ActionRestoreCA}, []string{"Secret/db-ca"}, nil, 1},
		"forget": {func(b *opstest.Bench) { b.Founded(2, "id") }, ops.Step{Action: ops.ActionForget}, nil,
			[]string{"ConfigMap/db.dbop"}, 1},
	}
}

// ready prepares a bench for a deed.
func (d deed) ready(t *testing.T) *opstest.Bench {
	b := opstest.NewBench(t)
	d.prepare(b)
	b.Server.Writes = nil
	return b
}

// done performs until the action says that it is done. A cluster that is
// forgotten can't be observed again, so the last observation of it serves.
func (d deed) done(b *opstest.Bench) error {
	b.T.Helper()
	for range 10 {
		l := liveOf(b)
		s := observation(b, l)
		if s.Cluster == nil {
			s = b.Last
		}
		b.Last = s
		if d.step.Action == ops.ActionRecordFormed {
			s.View.ClusterIDs = []string{"id"}
		}
		_, err := l.Perform(context.Background(), s, d.step, nil)
		if !errors.Is(err, engine.ErrNotReady) {
			return err
		}
	}
	return errors.New("it never ends")
}

func TestPerformDoesWhatItSaysOnce(t *testing.T) {
	for name, d := range deeds() {
		t.Run(name, func(t *testing.T) {
			b := d.ready(t)
			before := b.Server.Names(t)
			b.Must(d.done(b))
			after := b.Server.Names(t)
			for _, n := range d.appears {
				if before[n] || !after[n] {
					t.Errorf("%s did not appear", n)
				}
			}
			for _, n := range d.goes {
				if !before[n] || after[n] {
					t.Errorf("%s did not go", n)
				}
			}
			if n := len(after) - len(before); n != len(d.appears)-len(d.goes) {
				t.Errorf("%d objects more, want %d: %v", n, len(d.appears)-len(d.goes), after)
			}
			if len(b.Server.Writes) != d.writes {
				t.Errorf("%d writes, want %d: %v", len(b.Server.Writes), d.writes, b.Server.Writes)
			}
			once := b.Server.Dump(t)
			b.Must(d.done(b))
			if diff := cmp.Diff(once, b.Server.Dump(t)); diff != "" {
				t.Errorf("a repeat changed something (-once +twice):\n%s", diff)
			}
		})
	}
}

// TestPerformSurvivesACrashAtEveryWrite: the process dies before or after each
// write has its effect, and another ends the work.
func TestPerformSurvivesACrashAtEveryWrite(t *testing.T) {
	for name, d := range deeds() {
		t.Run(name, func(t *testing.T) {
			calm := d.ready(t)
			b := calm
			b.Must(d.done(b))
			want := calm.Server.Dump(t)
			for n := 1; n <= d.writes; n++ {
				for _, before := range []bool{true, false} {
					t.Run(fmt.Sprintf("%d before=%v", n, before), func(t *testing.T) {
						b := d.ready(t)
						b.Server.CrashAt, b.Server.Before = n, before
						if err := d.crash(b); !errors.Is(err, opstest.ErrCrash) {
							t.Fatalf("the process lived on: %v", err)
						}
						b.Server.CrashAt, b.Server.Crashed = 0, false
						b.Must(d.done(b))
						if diff := cmp.Diff(want, b.Server.Dump(t)); diff != "" {
							t.Errorf("it ended otherwise (-calm +crashed):\n%s", diff)
						}
					})
				}
			}
		})
	}
}

// crash performs until the process dies.
func (d deed) crash(b *opstest.Bench) error {
	for {
		l := liveOf(b)
		s := observation(b, l)
		b.Last = s
		if d.step.Action == ops.ActionRecordFormed {
			s.View.ClusterIDs = []string{"id"}
		}
		if _, err := l.Perform(context.Background(), s, d.step, nil); !errors.Is(err, engine.ErrNotReady) {
			return err
		}
	}
}

func TestPerformAnswersForWhatItCantDo(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(1, "id")
	if _, err := perform(b, ops.Step{Action: ops.ActionWait}); err == nil {
		t.Error("a wait was performed")
	}
	c := b.Cluster()
	c.Spec.Config = map[string]string{"broken": "yes"}
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	if _, err := perform(b, ops.Step{Action: ops.ActionStart, Members: []string{"db-1"}}); err == nil {
		t.Error("a pod was rendered that can't be")
	}
	c.Spec.Config, c.Spec.Version = nil, "7.7.7"
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	b.Must(pki.EnsureCertificates(t.Context(), b.Client(), c))
	if _, err := perform(b, ops.Step{Action: ops.ActionStart, Members: []string{"db-1"}}); !errors.Is(err,
		engine.ErrRefused) {
		t.Errorf("an unknown version: %v, want a refusal", err)
	}
	if b.Exists(&appsv1.StatefulSet{}, "db-1") {
		t.Error("a workload was made")
	}
}
