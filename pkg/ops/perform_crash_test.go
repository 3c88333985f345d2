package ops

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
)

// deed is one action, and the world before it.
type deed struct {
	prepare func(b *bench)
	step    Step
	// appears and goes are the objects by which the action is known to have happened.
	appears, goes []string
	// writes is how many there are, so that a crash at each is tried.
	writes int
}

func deeds() map[string]deed {
	formed := func(b *bench) { b.founded(2, "id"); b.running("db-1", "db-2") }
	founding := func(b *bench) { b.founded(2, ""); b.running("db-1", "db-2") }
	return map[string]deed{
		"certificates": {func(b *bench) { b.founded(2, "") }, Step{Action: ActionCertificates},
			[]string{"Secret/db-ca", "Secret/db-admin-tls", "Secret/db-client-tls"}, nil, 3},
		"services": {func(b *bench) { b.founded(2, "") }, Step{Action: ActionServices}, []string{"Service/db", "Service/db-client"}, nil, 2},
		"budget":   {func(b *bench) { b.founded(2, "") }, Step{Action: ActionBudget, Budget: 2}, []string{"PodDisruptionBudget/db"}, nil, 1},
		"no budget": {func(b *bench) {
			b.must(b.client().ApplyBudget(b.t.Context(), b.founded(2, ""), 2))
		}, Step{Action: ActionBudget}, nil, []string{"PodDisruptionBudget/db"}, 1},
		"start": {func(b *bench) {
			b.must(b.client().EnsureCertificates(b.t.Context(), b.founded(2, "")))
		}, Step{Action: ActionStart, Members: []string{"db-1", "db-2"}},
			[]string{"Secret/db-1-tls", "Secret/db-2-tls", "PersistentVolumeClaim/db-1", "PersistentVolumeClaim/db-2", "StatefulSet/db-1", "StatefulSet/db-2"}, nil, 6},
		"seal": {founding, Step{Action: ActionSeal, Members: []string{"db-1", "db-2"}}, nil, nil, 2},
		"record formation": {func(b *bench) {
			founding(b)
		}, Step{Action: ActionRecordFormed}, nil, nil, 3},
		"retire": {formed, Step{Action: ActionRetire, Members: []string{"db-2"}}, nil,
			[]string{"StatefulSet/db-2", "Pod/db-2-0", "Secret/db-2-tls", "PersistentVolumeClaim/db-2"}, 4},
		"stop": {formed, Step{Action: ActionStop, Members: []string{"db-1", "db-2"}}, nil,
			[]string{"StatefulSet/db-1", "Pod/db-1-0", "StatefulSet/db-2", "Pod/db-2-0"}, 4},
		"delete volumes": {formed, Step{Action: ActionDeleteVolume, Members: []string{"db-1", "db-2"}}, nil,
			[]string{"PersistentVolumeClaim/db-1", "PersistentVolumeClaim/db-2"}, 2},
		"delete objects": {func(b *bench) {
			formed(b)
			b.must(b.client().ApplyServices(b.t.Context(), b.cluster(), b.database.Ports(nil)))
			b.must(b.client().ApplyBudget(b.t.Context(), b.cluster(), 2))
		}, Step{Action: ActionDeleteAll}, nil, []string{"PodDisruptionBudget/db", "StatefulSet/db-1", "StatefulSet/db-2", "Pod/db-1-0", "Pod/db-2-0", "Service/db",
			"Service/db-client", "Secret/db-ca", "Secret/db-admin-tls", "Secret/db-client-tls", "Secret/db-1-tls", "Secret/db-2-tls"}, 12},
		"begin epoch": {func(b *bench) {
			formed(b)
			b.op = operation(v1alpha1.VerbRestore)
			b.op.Spec.Source = &v1alpha1.BackupSource{Repository: "dir:/backups", Backup: "b1"}
		}, Step{Action: ActionNewEpoch}, nil, nil, 1},
		"upgrade": {func(b *bench) {
			formed(b)
			c := b.cluster()
			c.Spec.Version = "1.2.0"
			b.must(b.store().UpdateCluster(b.t.Context(), c))
		}, Step{Action: ActionUpgrade, Members: []string{"db-2"}}, nil, []string{"Pod/db-2-0"}, 2},
		"grow": {func(b *bench) {
			formed(b)
			c := b.cluster()
			c.Spec.Storage.Size = resource.MustParse("64Gi")
			b.must(b.store().UpdateCluster(b.t.Context(), c))
		}, Step{Action: ActionGrow, Members: []string{"db-1", "db-2"}}, nil, nil, 2},
		"roll": {func(b *bench) {
			formed(b)
			c := b.cluster()
			c.Spec.Config = map[string]string{"speed": "high"}
			b.must(b.store().UpdateCluster(b.t.Context(), c))
		}, Step{Action: ActionRoll, Members: []string{"db-2"}}, nil, []string{"Pod/db-2-0"}, 2},
		"restart": {func(b *bench) {
			formed(b)
			b.asksRestart("db-2")
		}, Step{Action: ActionRestart, Members: []string{"db-2"}}, nil, []string{"Pod/db-2-0"}, 1},
		"restart what another version rendered": {func(b *bench) {
			formed(b)
			b.asksRestart("db-2")
			b.renderedElsewhere("db-2")
		}, Step{Action: ActionRestart, Members: []string{"db-2"}}, nil, []string{"Pod/db-2-0"}, 2},
		"revive": {formed, Step{Action: ActionRevive, Members: []string{"db-2"}}, nil, []string{"Pod/db-2-0"}, 1},
		"renew certificate": {func(b *bench) {
			b.rotating(v1alpha1.RotateLeaves)
		}, Step{Action: ActionRenew, Secret: "db-2-tls", Members: []string{"db-2"}}, nil, nil, 2},
		"renew a certificate that is gone": {func(b *bench) {
			b.rotating(v1alpha1.RotateLeaves)
			b.must(b.server.raw.Delete(b.t.Context(), &corev1.Secret{ObjectMeta: object("db-client-tls", nil)}))
		}, Step{Action: ActionRenew, Secret: "db-client-tls"}, []string{"Secret/db-client-tls"}, nil, 1},
		"add authority":                            {func(b *bench) { b.rotating(v1alpha1.RotateBegin) }, Step{Action: ActionAddCA}, nil, nil, 1},
		"distribute trust":                         {func(b *bench) { b.trusting() }, Step{Action: ActionTrust}, nil, nil, 4},
		"promote authority":                        {func(b *bench) { b.trusting() }, Step{Action: ActionPromoteCA}, nil, nil, 1},
		"drop authority":                           {func(b *bench) { b.trusting() }, Step{Action: ActionDropCA}, nil, nil, 1},
		"replace an authority that members trust":  {func(b *bench) { b.withoutAuthority(true) }, Step{Action: ActionRestoreCA}, []string{"Secret/db-ca"}, nil, 1},
		"replace an authority of unknown identity": {func(b *bench) { b.withoutAuthority(false) }, Step{Action: ActionRestoreCA}, []string{"Secret/db-ca"}, nil, 1},
		"forget": {func(b *bench) { b.founded(2, "id") }, Step{Action: ActionForget}, nil, []string{"ConfigMap/db.dbop"}, 1},
	}
}

// ready prepares a bench for a deed.
func (d deed) ready(t *testing.T) *bench {
	b := newBench(t)
	d.prepare(b)
	b.server.writes = nil
	return b
}

// done performs until the action says that it is done. A cluster that is
// forgotten can't be observed again, so the last look at it serves.
func (d deed) done(b *bench) error {
	b.t.Helper()
	for range 10 {
		l := b.live()
		s := b.observe(l)
		if s.Cluster == nil {
			s = b.last
		}
		b.last = s
		if d.step.Action == ActionRecordFormed {
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
			before := b.server.names(t)
			b.must(d.done(b))
			after := b.server.names(t)
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
			if len(b.server.writes) != d.writes {
				t.Errorf("%d writes, want %d: %v", len(b.server.writes), d.writes, b.server.writes)
			}
			once := b.server.dump(t)
			b.must(d.done(b))
			if diff := cmp.Diff(once, b.server.dump(t)); diff != "" {
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
			b.must(d.done(b))
			want := calm.server.dump(t)
			for n := 1; n <= d.writes; n++ {
				for _, before := range []bool{true, false} {
					t.Run(fmt.Sprintf("%d before=%v", n, before), func(t *testing.T) {
						b := d.ready(t)
						b.server.crashAt, b.server.before = n, before
						if err := d.crash(b); !errors.Is(err, errCrash) {
							t.Fatalf("the process lived on: %v", err)
						}
						b.server.crashAt, b.server.crashed = 0, false
						b.must(d.done(b))
						if diff := cmp.Diff(want, b.server.dump(t)); diff != "" {
							t.Errorf("it ended otherwise (-calm +crashed):\n%s", diff)
						}
					})
				}
			}
		})
	}
}

// crash performs until the process dies.
func (d deed) crash(b *bench) error {
	for {
		l := b.live()
		s := b.observe(l)
		b.last = s
		if d.step.Action == ActionRecordFormed {
			s.View.ClusterIDs = []string{"id"}
		}
		if _, err := l.Perform(context.Background(), s, d.step, nil); !errors.Is(err, engine.ErrNotReady) {
			return err
		}
	}
}

func TestPerformAnswersForWhatItCantDo(t *testing.T) {
	b := newBench(t)
	b.founded(1, "id")
	if _, err := b.perform(Step{Action: ActionWait}); err == nil {
		t.Error("a wait was performed")
	}
	c := b.cluster()
	c.Spec.Config = map[string]string{"broken": "yes"}
	b.must(b.store().UpdateCluster(t.Context(), c))
	if _, err := b.perform(Step{Action: ActionStart, Members: []string{"db-1"}}); err == nil {
		t.Error("a pod was rendered that can't be")
	}
	c.Spec.Config, c.Spec.Version = nil, "7.7.7"
	b.must(b.store().UpdateCluster(t.Context(), c))
	b.must(b.client().EnsureCertificates(t.Context(), c))
	if _, err := b.perform(Step{Action: ActionStart, Members: []string{"db-1"}}); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("an unknown version: %v, want a refusal", err)
	}
	if b.exists(&appsv1.StatefulSet{}, "db-1") {
		t.Error("a workload was made")
	}
}
