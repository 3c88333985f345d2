package planner

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// stranded is a change of size that met certificates which ran out: nobody
// reaches anybody any more.
func stranded(change func(*ops.State)) func() ops.State {
	return func() ops.State {
		s := opstest.Doing(opstest.Certified(3), opstest.Operation(v1alpha1.VerbScale), false)
		s.Operation.ResourceVersion, s.Operation.Spec.FromMembers = "1", 3
		s.Cluster.Spec.Members = 5
		for i := range s.Kube.Leaves {
			s.Kube.Leaves[i].NotAfter = opstest.Now().Add(-time.Hour)
		}
		for _, m := range []string{"db-1", "db-2", "db-3"} {
			opstest.Down(&s, m, "", 0)
			s.Kube.Members[s.MemberIndex(m)].Pod.Running = true
		}
		opstest.NoQuorum(&s)
		change(&s)
		return s
	}
}

func TestDecideRenewal(t *testing.T) {
	t.Parallel()
	same := func(*ops.State) {}
	renewed := func(secrets ...string) func(*ops.State) {
		return func(s *ops.State) {
			for i := range s.Kube.Leaves {
				for _, secret := range secrets {
					if s.Kube.Leaves[i].Secret == secret {
						s.Kube.Leaves[i].NotAfter = opstest.Now().Add(time.Hour)
					}
				}
			}
		}
	}
	ask(t, opstest.Stub{}, []question{
		{"the first that ran out", stranded(same), "renew-certificate/db-1-tls"},
		{"stepping back, too", stranded(opstest.Cancelling), "renew-certificate/db-1-tls"},
		{"none twice", stranded(renewed("db-1-tls", "db-2-tls", "db-3-tls")), "renew-certificate/db-admin-tls"},
		{"then it is waited for", stranded(renewed("db-1-tls", "db-2-tls", "db-3-tls", "db-admin-tls", "db-client-tls")),
			"wait/quorum"},
		{"one of a member that is no more", stranded(func(s *ops.State) {
			renewed("db-1-tls", "db-3-tls", "db-admin-tls", "db-client-tls")(s)
			s.Kube.Members[1].Workload.Token, s.Kube.Members[1].Volume.Token = "old", "old"
		}), "wait/quorum"},
		{"by an authority that ran out itself",
			stranded(func(s *ops.State) { s.Kube.Trust.Current.NotAfter = opstest.Now() }), "wait/quorum"},
		{"nobody read them", stranded(func(s *ops.State) { s.Kube.Trust, s.Kube.Leaves = nil, nil }), "wait/quorum"},
		{"for a request that is only considered", stranded(func(s *ops.State) {
			s.Operation.ResourceVersion, s.Operation.Status.Journal = "", nil
		}), "blocked Refused quorum"},
		{"plain text", stranded(func(s *ops.State) { s.Cluster.Spec.TLS.Disabled = true }), "wait/quorum"},
	})
	d := Decide(opstest.Stub{}, stranded(func(s *ops.State) {
		opstest.Trusting(s)
		renewed("db-1-tls", "db-2-tls", "db-3-tls", "db-client-tls")(s)
	})())
	if d.Step == nil || d.Step.Secret != "db-admin-tls" || !d.Step.NextCA {
		t.Errorf("what the next authority signed is signed by another: %+v", d)
	}
}

// TestPlanRenewal: each is issued once, and the operation goes on.
func TestPlanRenewal(t *testing.T) {
	t.Parallel()
	got := opstest.IDs(MakePlan(opstest.Stub{}, stranded(func(*ops.State) {})()))
	want := []string{"renew-certificate/db-1-tls", "renew-certificate/db-2-tls", "renew-certificate/db-3-tls",
		"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls", "wait/quorum"}
	if len(got) <= len(want) {
		t.Fatalf("it does not go on: %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("step %d is %s, want %s", i, got[i], want[i])
		}
	}
}
