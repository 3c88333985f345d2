package ops

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// withoutAuthority is a cluster whose authority is lost, and a repair of it.
func (b *bench) withoutAuthority(known bool) {
	b.t.Helper()
	b.founded(2, "id")
	b.running("db-1", "db-2")
	b.op = operation(v1alpha1.VerbRepair)
	b.op.Spec.Authority = lostAuthority
	if s := b.observe(b.live()); known {
		b.op.Spec.Authority = s.trusted()
	}
	if b.op.Spec.Authority == "" {
		b.t.Fatal("nobody trusts an authority")
	}
	b.must(b.server.raw.Delete(b.t.Context(), &corev1.Secret{ObjectMeta: object("db-ca", nil)}))
}

// TestMissing: what is told of a record that can't be used, by what is there.
func TestMissing(t *testing.T) {
	t.Parallel()
	record, workloads, volumes := &v1alpha1.DatabaseCluster{}, []string{"db-1"}, []string{"db-1"}
	for name, row := range map[string]struct {
		kept        kube.Kept
		check, hint string
	}{
		"nothing is there":         {},
		"the record alone is lost": {kube.Kept{Record: record, Workloads: workloads, Volumes: volumes}, "record-missing", "kubectl dbop repair db "},
		"volumes alone":            {kube.Kept{Record: record, Volumes: volumes}, "volumes-kept", "kubectl dbop create db --from-volumes "},
		"no copy":                  {kube.Kept{Workloads: workloads, Problem: "no copy"}, "record-missing", "from a copy"},
		"damaged":                  {kube.Kept{Record: record, Workloads: workloads, Damaged: kube.ErrDamaged}, "record-damaged", "kubectl dbop repair db "},
		"damaged, of a stopped one": {kube.Kept{Record: record, Volumes: volumes, Damaged: kube.ErrDamaged},
			"record-damaged", "kubectl dbop repair db "},
		"damaged, and no copy": {kube.Kept{Workloads: workloads, Problem: "no copy", Damaged: kube.ErrDamaged}, "record-damaged", "from a copy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Missing("shop", "db", row.kept)
			if err == nil {
				err = &Error{}
			}
			if err.Check != row.check || !strings.Contains(err.Hint, row.hint) {
				t.Errorf("%+v", err)
			}
		})
	}
}

// TestRecordThatIsBeingDeleted: it is told in findings with the commands that
// mend it, and a repair waits for nothing.
func TestRecordThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	s := well(3)
	s.Cluster.DeletionTimestamp, s.Cluster.Finalizers = &metav1.Time{Time: now()}, []string{"example.com/held"}
	f := s.Altered()
	if len(f) != 1 || f[0].Severity != Fail || !strings.Contains(f[0].What, "example.com/held") || len(f[0].Remedy) != 2 || !strings.Contains(f[0].Remedy[0], "kubectl patch configmap db.dbop") {
		t.Fatalf("%+v", f)
	}
	s.Operation = operation(v1alpha1.VerbRepair)
	d := planner{s: s}.rebuilding()
	if d == nil || d.Blocked == nil || d.Blocked.Check != "record-terminating" || !strings.HasSuffix(d.Blocked.Hint, "kubectl dbop repair db") {
		t.Errorf("%+v", d)
	}
}

// TestRecordLostDuringAnOperation: a repair writes the record, and leaves what
// is in flight to be resumed.
func TestRecordLostDuringAnOperation(t *testing.T) {
	b := newBench(t)
	c := b.founded(2, "id")
	b.must(b.store().CreateOperation(t.Context(), &v1alpha1.Operation{ObjectMeta: object("", nil),
		Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRestart}, Status: v1alpha1.OperationStatus{Phase: v1alpha1.PhasePaused}}))
	b.must(b.store().DeleteCluster(t.Context(), c))
	c.UID, c.ResourceVersion = "", ""
	r := &Runner{Engine: b.database, Store: b.store(), Reporter: Silent{}, Poll: time.Millisecond}
	req := Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRepair}, Cluster: c}
	founding := Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbCreate}, Cluster: c}
	if err := r.writeLost(t.Context(), "shop", founding); err != nil || c.UID != "" {
		t.Fatalf("a creation wrote a record over one that is lost: %+v, %v", c, err)
	}
	err := r.writeLost(t.Context(), "shop", req)
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Busy || !strings.Contains(e.Hint, "kubectl dbop resume db") {
		t.Errorf("%v", err)
	}
	if got := b.cluster(); got.Status.ID != c.Status.ID || got.Spec.Members != 2 {
		t.Errorf("%+v", got)
	}
}

// TestRewritable: a record is written again without being asked for only where
// nothing is in doubt.
func TestRewritable(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*Charge)
		want   string
	}{
		"lost":                          {func(*Charge) {}, "repair "},
		"damaged":                       {func(g *Charge) { g.Damaged = kube.ErrDamaged }, "repair "},
		"of a stopped cluster":          {func(g *Charge) { g.Kept.Workloads, g.Kept.Record.Spec.Stopped = nil, true }, "repair "},
		"a scale is in flight":          {func(g *Charge) { g.Active = operation(v1alpha1.VerbScale) }, "repair "},
		"not clear":                     {func(g *Charge) { g.Kept.Clear = false }, "rest refused by record-missing"},
		"not clear, and damaged":        {func(g *Charge) { g.Kept.Clear, g.Damaged = false, kube.ErrDamaged }, "rest refused by record-damaged"},
		"of another object":             {func(g *Charge) { g.Custom.UID = "other" }, "rest refused by record-missing"},
		"of the command line":           {func(g *Charge) { g.Kept.Record.Annotations = nil }, "rest refused by record-missing"},
		"it has not formed":             {func(g *Charge) { g.Kept.Record.Status.Formation.ClusterID = "" }, "rest refused by record-missing"},
		"only volumes are left":         {func(g *Charge) { g.Kept.Workloads = nil }, "create "},
		"a restore is in flight":        {func(g *Charge) { g.Active = operation(v1alpha1.VerbRestore) }, "rest refused by record-missing"},
		"a recovery is in flight":       {func(g *Charge) { g.Active = operation(v1alpha1.VerbRecover) }, "rest refused by record-missing"},
		"a deletion is in flight":       {func(g *Charge) { g.Active = operation(v1alpha1.VerbDelete) }, "continue "},
		"the object is paused":          {func(g *Charge) { g.Custom.Spec.Paused = true }, "rest refused by record-missing"},
		"the object is being deleted":   {func(g *Charge) { g.Custom.DeletionTimestamp = &metav1.Time{Time: now()} }, "rest "},
		"the object was deleted":        {func(g *Charge) { g.Custom = nil }, "rest "},
		"the record is there after all": {func(g *Charge) { g.Record = g.Kept.Record }, "look "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := charge()
			g.Kept = kube.Kept{Record: g.Record, Clear: true, Workloads: []string{"db-1"}, Volumes: []string{"db-1"}}
			g.Record = nil
			row.change(&g)
			m, err := Govern(g)
			if got := told(m, err); got != row.want {
				t.Fatalf("%q, want %q", got, row.want)
			}
			if row.want != "repair " {
				return
			}
			before := m.Request.Cluster.DeepCopy()
			if err := Complete(m.Request, now(), strings.NewReader(strings.Repeat("x", 64))); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, m.Request.Cluster); diff != "" || !m.Request.Operation.Quiet {
				t.Errorf("%+v was founded again (-want +got):\n%s", m.Request.Operation, diff)
			}
		})
	}
}

// TestPlanOfALostAuthority: the members change over one by one to another
// authority where the lost one is known, and restart together where it is not.
func TestPlanOfALostAuthority(t *testing.T) {
	t.Parallel()
	renewed := []string{"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls", "renew-certificate/db-1-tls", "renew-certificate/db-2-tls", "renew-certificate/db-3-tls"}
	together := slices.Concat([]string{"restore-authority"}, renewed, []string{"distribute-trust", "restart-member/db-1", "restart-member/db-2", "restart-member/db-3"})
	inTurn := slices.Concat([]string{"restore-authority", "distribute-trust", "restart-member/db-2", "restart-member/db-3", "hand-over/db-2", "restart-member/db-1"},
		renewed, []string{"promote-authority", "distribute-trust", "restart-member/db-1", "restart-member/db-3", "hand-over/db-1", "restart-member/db-2"})
	for name, row := range map[string]struct {
		change func(*State)
		want   []string
	}{
		"it is there":                   {func(s *State) { s.Kube.Trust = &kube.Trust{Current: newCA()} }, []string{}},
		"known":                         {func(*State) {}, inTurn},
		"one certificate is of another": {func(s *State) { s.Kube.Leaves[1].Signer = "ca-other" }, together},
		"a member has no workload":      {func(s *State) { s.Kube.Members[2].Workload.Exists = false }, append(slices.Clone(together), "start-members/db-3")},
		"the services are lost, too":    {func(s *State) { s.Kube.Services = false }, append([]string{"create-services"}, inTurn...)},
		"an operator asks":              {func(s *State) { s.Operation.Spec.Quiet = true }, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := certified(3)
			s.Cluster.ResourceVersion, s.Kube.Services = "1", true
			s.Kube.Trust = &kube.Trust{Problem: "secret db-ca is gone"}
			for i := range s.Kube.Members {
				s.Kube.Members[i].Pod.UID = "uid-" + s.Kube.Members[i].Name
			}
			s.Operation = operation(v1alpha1.VerbRepair)
			row.change(&s)
			if err := pin(stub{}, &s.Operation.Spec, s); err != nil {
				t.Fatal(err)
			}
			p := MakePlan(stub{}, s)
			if diff := cmp.Diff(row.want, ids(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}
