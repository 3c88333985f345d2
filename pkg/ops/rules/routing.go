package rules

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// CheckRouting refuses a way of clients that the engine does not have.
func CheckRouting(e engine.Engine, spec v1alpha1.DatabaseClusterSpec) error {
	if !spec.Direct() || e.Capabilities().Routing {
		return nil
	}
	return &engine.Refusal{Check: "routing", Reason: "clients of " + e.Name() + " reach all members directly anyway",
		Hint: "leave out --routing, or spec.routing"}
}

// RouteFirst is done before members restart for another way of clients. Agents that are to lead clients need their
// account when they start, and while some still do, the service leads to whichever member they chose, but through its
// agent.
func (p Situation) RouteFirst() *ops.Decision {
	direct := p.S.Cluster.Spec.Direct()
	switch {
	case !p.reroutes() || direct == p.S.Kube.Direct:
		return nil
	case !direct:
		return p.Services()
	case p.S.Fact(v1alpha1.FactAccount) != "":
		return nil
	}
	return Do(ops.Step{ID: string(ops.ActionAccount), Action: ops.ActionAccount, Risk: ops.RiskNone,
		Deadline: StepDeadline, Touches: accountOf(p.S.Cluster.Name),
		Title: "Give the agents an account that may change the client service"})
}

// RouteLast is done once all members have restarted.
func (p Situation) RouteLast() *ops.Decision {
	c := p.S.Cluster
	switch direct := c.Spec.Direct(); {
	case !p.reroutes():
		return nil
	case direct && p.S.Kube.LedTo == "":
		// A service that selects nothing leads nowhere.
		return p.Await("routing", "no agent leads clients yet: kubectl dbop logs "+c.Name+" shows why")
	case direct != p.S.Kube.Direct, slices.ContainsFunc(p.S.Kube.Differences, p.ledElsewhere):
		return p.Services()
	case direct || p.S.Fact(v1alpha1.FactAccountDropped) != "":
		return nil
	}
	return Do(ops.Step{ID: string(ops.ActionDropAccount), Action: ops.ActionDropAccount, Risk: ops.RiskNone,
		Deadline: StepDeadline, Touches: accountOf(c.Name),
		Title: "Delete the account of the agents, which pass clients on"})
}

// reroutes reports whether the operation is about the way of clients.
func (p Situation) reroutes() bool {
	o := p.S.Operation
	return o != nil && o.Spec.Change != nil && o.Spec.Change.Routing != ""
}

// ledElsewhere reports whether the client service is not as it is wanted: an agent may have written it while it could.
func (p Situation) ledElsewhere(d drift.Difference) bool {
	return OfClients(d) && health.ObjectName(d) == v1alpha1.ClientService(p.S.Cluster.Name)
}

// OfClients reports whether a difference is of where a service leads to.
func OfClients(d drift.Difference) bool {
	return health.KindOf(d) == health.KindService && (d.Is("spec.selector") || d.Is("spec.ports"))
}

func accountOf(cluster string) []string {
	name := v1alpha1.AgentAccount(cluster)
	return []string{"serviceaccount/" + name, "role/" + name, "rolebinding/" + name}
}
