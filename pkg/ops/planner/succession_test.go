package planner

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// ranOut is a cluster whose authority, and so every certificate, ran out:
// nobody dials anybody, and the tool is refused too.
func ranOut(t testing.TB, r v1alpha1.Rotation, change func(*ops.State)) ops.State {
	t.Helper()
	s := opstest.Expired(r)
	if err := Resolve(opstest.Stub{}, &s.Operation.Spec, s); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&s)
	}
	return s
}

func TestAuthorityRanOut(t *testing.T) {
	t.Parallel()
	way := []string{"add-authority", "promote-authority", "renew-certificate/db-admin-tls",
		"renew-certificate/db-client-tls",
		"renew-certificate/db-1-tls", "renew-certificate/db-2-tls", "renew-certificate/db-3-tls", "distribute-trust",
		"restart-member/db-1", "restart-member/db-2", "restart-member/db-3", "wait/quorum"}
	promoted := func(s *ops.State) {
		authorities(s, ops.ActionAddCA)
		authorities(s, ops.ActionPromoteCA)
	}
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"a new one, everything by it, all renewal": {state: ranOut(t, v1alpha1.RotateAtOnce, nil), want: way},
		"started in time, finished too late": {state: ranOut(t, v1alpha1.RotateAtOnce,
			func(s *ops.State) { authorities(s, ops.ActionAddCA) }), want: way[1:]},
		"continued after it took over": {state: ranOut(t, v1alpha1.RotateAtOnce, promoted), want: way[2:]},
		"continued after one was restarted": {state: ranOut(t, v1alpha1.RotateAtOnce, func(s *ops.State) {
			promoted(s)
			s.Kube.Members[0].Pod.UID = "new"
			s.View.Members[0].Certificate = &engine.Presented{Accepts: []string{s.Kube.Trust.Current.Subject}}
		}), want: append(append([]string{}, way[2:8]...), way[9:]...)},
		"the last one, once the others are a majority": {state: ranOut(t, v1alpha1.RotateAtOnce, func(s *ops.State) {
			promoted(s)
			settle(opstest.Stub{}, s)
			for i := range s.Kube.Leaves {
				s.Kube.Leaves[i].Signer = s.Kube.Trust.Current.Fingerprint
			}
			authorities(s, ops.ActionTrust)
			for i := range s.View.Members {
				s.Reloaded(s.View.Members[i].Name)
			}
			s.Kube.Members[0].Pod.UID, s.Kube.Members[1].Pod.UID = "new", "new"
			s.View.Quorum, s.View.Members[2].Reachable, s.View.Members[2].Certificate = true, false, nil
		}), want: []string{"restart-member/db-3", "wait/healthy"}},
		"not leaves, which it can't sign any more": {state: ranOut(t, v1alpha1.RotateLeaves, nil), block: "ran out on"},
		"not in halves":    {state: ranOut(t, v1alpha1.RotateBegin, nil), block: "ran out on"},
		"nothing to go on": {state: ranOut(t, v1alpha1.RotateFinish, nil), block: "ran out on"},
		"no way back":      {state: ranOut(t, v1alpha1.RotateAtOnce, cancelled), block: "nothing to go back to"},
		"an own one that is no better": {state: ranOut(t, v1alpha1.RotateAtOnce, func(s *ops.State) {
			s.Cluster.Spec.TLS.CASecret, s.Kube.Trust.GivenProblem = "corporate",
				"secret shop/corporate: the authority ran out"
		}), block: "shop/corporate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := MakePlan(opstest.Stub{}, c.state)
			if got := strings.Join(opstest.IDs(plan), " "); got != strings.Join(c.want, " ") {
				t.Errorf("got  %s\nwant %s", got, strings.Join(c.want, " "))
			}
			if (plan.Blocked == nil) != (c.block == "") || (plan.Blocked != nil &&
				!strings.Contains(plan.Blocked.Message, c.block)) {
				t.Errorf("blocked %+v, want %q", plan.Blocked, c.block)
			}
		})
	}
}
