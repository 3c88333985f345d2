package ops

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// stranded is a change of size that met certificates which ran out: nobody
// reaches anybody any more.
func stranded(change func(*State)) func() State {
	return func() State {
		s := certified(3).doing(operation(v1alpha1.VerbScale), false)
		s.Operation.ResourceVersion, s.Operation.Spec.FromMembers = "1", 3
		s.Cluster.Spec.Members = 5
		for i := range s.Kube.Leaves {
			s.Kube.Leaves[i].NotAfter = now().Add(-time.Hour)
		}
		for _, m := range []string{"db-1", "db-2", "db-3"} {
			s.down(m, "", 0)
			s.Kube.Members[s.memberIndex(m)].Pod.Running = true
		}
		s.noQuorum()
		change(&s)
		return s
	}
}

func TestDecideRenewal(t *testing.T) {
	t.Parallel()
	same := func(*State) {}
	renewed := func(secrets ...string) func(*State) {
		return func(s *State) {
			for i := range s.Kube.Leaves {
				for _, secret := range secrets {
					if s.Kube.Leaves[i].Secret == secret {
						s.Kube.Leaves[i].NotAfter = now().Add(time.Hour)
					}
				}
			}
		}
	}
	ask(t, stub{}, []question{
		{"the first that ran out", stranded(same), "renew-certificate/db-1-tls"},
		{"stepping back, too", stranded(cancelling), "renew-certificate/db-1-tls"},
		{"none twice", stranded(renewed("db-1-tls", "db-2-tls", "db-3-tls")), "renew-certificate/db-admin-tls"},
		{"then it is waited for", stranded(renewed("db-1-tls", "db-2-tls", "db-3-tls", "db-admin-tls", "db-client-tls")), "wait/quorum"},
		{"one of a member that is no more", stranded(func(s *State) {
			renewed("db-1-tls", "db-3-tls", "db-admin-tls", "db-client-tls")(s)
			s.Kube.Members[1].Workload.Token, s.Kube.Members[1].Volume.Token = "old", "old"
		}), "wait/quorum"},
		{"by an authority that ran out itself", stranded(func(s *State) { s.Kube.Trust.Current.NotAfter = now() }), "wait/quorum"},
		{"nobody looked at them", stranded(func(s *State) { s.Kube.Trust, s.Kube.Leaves = nil, nil }), "wait/quorum"},
		{"for a request that is only considered", stranded(func(s *State) {
			s.Operation.ResourceVersion, s.Operation.Status.Journal = "", nil
		}), "blocked Refused quorum"},
		{"plain text", stranded(func(s *State) { s.Cluster.Spec.TLS.Disabled = true }), "wait/quorum"},
	})
	d := Decide(stub{}, stranded(func(s *State) {
		trusting(s)
		renewed("db-1-tls", "db-2-tls", "db-3-tls", "db-client-tls")(s)
	})())
	if d.Step == nil || d.Step.Secret != "db-admin-tls" || !d.Step.NextCA {
		t.Errorf("what the next authority signed is signed by another: %+v", d)
	}
}

// TestPlanRenewal: each is issued once, and the operation goes on.
func TestPlanRenewal(t *testing.T) {
	t.Parallel()
	got := ids(MakePlan(stub{}, stranded(func(*State) {})()))
	want := []string{"renew-certificate/db-1-tls", "renew-certificate/db-2-tls", "renew-certificate/db-3-tls", "renew-certificate/db-admin-tls", "renew-certificate/db-client-tls", "wait/quorum"}
	if len(got) <= len(want) {
		t.Fatalf("it does not go on: %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("step %d is %s, want %s", i, got[i], want[i])
		}
	}
}
