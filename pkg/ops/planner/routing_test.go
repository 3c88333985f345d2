package planner

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// routed is an engine whose agents can lead clients.
type routed struct{ opstest.Stub }

func (r routed) Capabilities() engine.Capabilities {
	c := r.Stub.Capabilities()
	c.Routing = true
	return c
}

// routing is a change of the way of clients, of which so many members have restarted.
func routing(to v1alpha1.Routing, moved int, change func(*ops.State)) func() ops.State {
	return func() ops.State {
		s := opstest.Well(3)
		from := v1alpha1.RoutingDirect
		if to == from {
			from = v1alpha1.RoutingProxied
		}
		s.Cluster.Spec.Routing, s.Kube.Direct = from, from == v1alpha1.RoutingDirect
		for _, m := range s.Kube.Members {
			has(&s, m.Name)
		}
		for i := range s.View.Members {
			s.View.Members[i].Routing = true
		}
		op := opstest.Operation(v1alpha1.VerbConfigure)
		op.Spec.Change = &v1alpha1.SettingsChange{Routing: to}
		Default(&op.Spec, s.Cluster)
		s = opstest.Doing(s, op, moved == 0)
		ApplyTo(s.Cluster, op)
		for _, m := range []string{"db-2", "db-3", "db-1"}[:moved] {
			has(&s, m)
			op.Status.Journal = append(op.Status.Journal, v1alpha1.JournalEntry{Step: "roll-member/" + m})
		}
		if change != nil {
			change(&s)
		}
		return s
	}
}

func TestDecideRouting(t *testing.T) {
	t.Parallel()
	account := func(s *ops.State) { s.SetFact(v1alpha1.FactAccount) }
	ledTo := func(s *ops.State) { account(s); s.Kube.LedTo = "db-2" }
	proxied := func(s *ops.State) { s.Kube.Direct = false }
	cancelled := func(change func(*ops.State)) func(*ops.State) {
		return func(s *ops.State) {
			s.Operation.Status.Phase = v1alpha1.PhaseCancelling
			ApplyTo(s.Cluster, s.Operation)
			change(s)
		}
	}
	ask(t, routed{}, []question{
		{"agents get an account before they need it", routing(v1alpha1.RoutingDirect, 0, nil), "create-account"},
		{"an agent is older than that", routing(v1alpha1.RoutingDirect, 0, func(s *ops.State) {
			s.View.Members[1].Routing = false
		}), "blocked Refused routing"},
		{"an older witness leads nobody", routing(v1alpha1.RoutingDirect, 0, func(s *ops.State) {
			s.View.Members[1].Routing, s.View.MemberList[1].Witness = false, true
		}), "create-account"},
		{"then members restart", routing(v1alpha1.RoutingDirect, 0, account), "roll-member/db-2"},
		{"the service waits until an agent leads clients", routing(v1alpha1.RoutingDirect, 3, account), "wait/routing"},
		{"then it is given to them", routing(v1alpha1.RoutingDirect, 3, ledTo), "create-services"},
		{"it leads straight to the primary", routing(v1alpha1.RoutingDirect, 3, func(s *ops.State) {
			ledTo(s)
			s.Kube.Direct = true
		}), "done"},
		{"on the way back members restart first", routing(v1alpha1.RoutingDirect, 1, cancelled(account)),
			"roll-member/db-2"},
		{"and the account goes", routing(v1alpha1.RoutingDirect, 0, cancelled(account)), "delete-account"},

		{"the agents of all members take clients first", routing(v1alpha1.RoutingProxied, 0, nil), "create-services"},
		{"then members restart without the account", routing(v1alpha1.RoutingProxied, 0, proxied), "roll-member/db-2"},
		{"an agent wrote the service meanwhile", routing(v1alpha1.RoutingProxied, 3, func(s *ops.State) {
			proxied(s)
			s.Kube.Differences = []drift.Difference{{Object: "service/db-client", Kind: drift.Edited,
				Field: "spec.selector.dbop.dev/member", Have: "db-1"}}
		}), "create-services"},
		{"the account goes last", routing(v1alpha1.RoutingProxied, 3, proxied), "delete-account"},
		{"all is done", routing(v1alpha1.RoutingProxied, 3, func(s *ops.State) {
			proxied(s)
			s.SetFact(v1alpha1.FactAccountDropped)
		}), "done"},
		{"on the way back the account comes first", routing(v1alpha1.RoutingProxied, 1, cancelled(proxied)),
			"create-account"},
	})
	ask(t, opstest.Stub{}, []question{
		{"another change", configuring(3, []string{"db-1", "db-2", "db-3"}, nil), "done"},
	})
}

// TestPlanRouting: a plan ends, in both directions.
func TestPlanRouting(t *testing.T) {
	t.Parallel()
	for to, want := range map[v1alpha1.Routing][]string{
		v1alpha1.RoutingDirect: {"create-account", "roll-member/db-2", "roll-member/db-3", "hand-over/db-2",
			"roll-member/db-1", "create-services"},
		v1alpha1.RoutingProxied: {"create-services", "roll-member/db-2", "roll-member/db-3", "hand-over/db-2",
			"roll-member/db-1", "delete-account"},
	} {
		s := routing(to, 0, nil)()
		p := MakePlan(routed{}, s)
		var got []string
		for _, step := range p.Steps {
			got = append(got, step.ID)
		}
		if len(got) != len(want) {
			t.Errorf("%s: %q, blocked %v", to, got, p.Blocked)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: step %d is %s, want %s", to, i, got[i], want[i])
			}
		}
	}
}
