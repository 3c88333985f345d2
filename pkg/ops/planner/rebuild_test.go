package planner

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// TestMissing: what is told of a record that can't be used, by what is there.
func TestMissing(t *testing.T) {
	t.Parallel()
	record, workloads, volumes := &v1alpha1.DatabaseCluster{}, []string{"db-1"}, []string{"db-1"}
	for name, row := range map[string]struct {
		kept        store.Kept
		check, hint string
	}{
		"nothing is there": {},
		"the record alone is lost": {store.Kept{Record: record, Workloads: workloads, Volumes: volumes}, "record-missing",
			"kubectl dbop repair db"},
		"volumes alone": {store.Kept{Record: record, Volumes: volumes}, "volumes-kept",
			"kubectl dbop create db --from-volumes"},
		"no copy": {store.Kept{Workloads: workloads, Problem: "no copy"}, "record-missing", "from a copy"},
		"damaged": {store.Kept{Record: record, Workloads: workloads, Damaged: store.ErrDamaged},
			"record-damaged", "kubectl dbop repair db"},
		"damaged, of a stopped one": {store.Kept{Record: record, Volumes: volumes, Damaged: store.ErrDamaged},
			"record-damaged", "kubectl dbop repair db"},
		"damaged, and no copy": {store.Kept{Workloads: workloads, Problem: "no copy", Damaged: store.ErrDamaged},
			"record-damaged", "from a copy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Missing("shop", "db", row.kept)
			if err == nil {
				err = &ops.Error{}
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
	s := opstest.Well(3)
	s.Cluster.DeletionTimestamp, s.Cluster.Finalizers = &metav1.Time{Time: opstest.Now()}, []string{"example.com/held"}
	f := health.Altered(s)
	if len(f) != 1 || f[0].Severity != ops.Fail || !strings.Contains(f[0].What, "example.com/held") ||
		len(f[0].Remedy) != 2 || !strings.Contains(f[0].Remedy[0], "kubectl patch configmap db.dbop") {
		t.Fatalf("%+v", f)
	}
	s.Operation = opstest.Operation(v1alpha1.VerbRepair)
	d := operation.Repair{}.Steps().First(rules.Situation{S: s})
	if d == nil || d.Blocked == nil || d.Blocked.Check != "record-terminating" ||
		!strings.HasSuffix(d.Blocked.Hint, "kubectl dbop repair db") {
		t.Errorf("%+v", d)
	}
}

// TestPlanOfALostAuthority: the members change over one by one to another
// authority where the lost one is known, and restart renewal where it is not.
func TestPlanOfALostAuthority(t *testing.T) {
	t.Parallel()
	renewed := []string{"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls", "renew-certificate/db-1-tls",
		"renew-certificate/db-2-tls", "renew-certificate/db-3-tls"}
	renewal := slices.Concat([]string{"restore-authority"}, renewed,
		[]string{"distribute-trust", "restart-member/db-1", "restart-member/db-2", "restart-member/db-3"})
	inTurn := slices.Concat([]string{"restore-authority", "distribute-trust", "restart-member/db-2",
		"restart-member/db-3",
		"hand-over/db-2", "restart-member/db-1"},
		renewed, []string{"promote-authority", "distribute-trust", "restart-member/db-1", "restart-member/db-3",
			"hand-over/db-1", "restart-member/db-2"})
	for name, row := range map[string]struct {
		change func(*ops.State)
		want   []string
	}{
		"it is there": {func(s *ops.State) { s.Kube.Trust = &pki.Trust{Current: opstest.NewCA()} },
			[]string{}},
		"known":                         {func(*ops.State) {}, inTurn},
		"one certificate is of another": {func(s *ops.State) { s.Kube.Leaves[1].Signer = "ca-other" }, renewal},
		"a member has no workload": {func(s *ops.State) { s.Kube.Members[2].Workload.Exists = false },
			append(slices.Clone(renewal), "start-members/db-3")},
		"the services are lost, too": {func(s *ops.State) { s.Kube.Services = false },
			append([]string{"create-services"}, inTurn...)},
		"an operator asks": {func(s *ops.State) { s.Operation.Spec.Quiet = true }, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opstest.Certified(3)
			s.Cluster.ResourceVersion, s.Kube.Services = "1", true
			s.Kube.Trust = &pki.Trust{Problem: "secret db-ca is gone"}
			for i := range s.Kube.Members {
				s.Kube.Members[i].Pod.UID = "uid-" + s.Kube.Members[i].Name
			}
			s.Operation = opstest.Operation(v1alpha1.VerbRepair)
			row.change(&s)
			if err := Resolve(opstest.Stub{}, &s.Operation.Spec, s); err != nil {
				t.Fatal(err)
			}
			p := MakePlan(opstest.Stub{}, s)
			if diff := cmp.Diff(row.want, opstest.IDs(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}
