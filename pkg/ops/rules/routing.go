package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// CheckRouting refuses a way of clients that the engine does not have, and that some are sent to a cluster and led
// straight to a member.
func CheckRouting(e engine.Engine, spec v1alpha1.DatabaseClusterSpec) error {
	switch refuse := redirectRefusal; {
	case spec.RedirectTo == "":
	case !e.Capabilities().Source:
		return refuse("a cluster of "+e.Name()+" never takes the place of another one", "leave out --redirect-to, or "+
			"spec.redirectTo")
	case spec.Direct():
		return refuse("the agents of a cluster that leads clients straight to its primary change the service themselves",
			"have its agents pass clients on first: --routing proxied")
	}
	if !spec.Direct() || e.Capabilities().Routing {
		return nil
	}
	return &engine.Refusal{Check: "routing", Reason: "clients of " + e.Name() + " reach all members directly anyway",
		Hint: "leave out --routing, or spec.routing"}
}

func redirectRefusal(reason, hint string) error {
	return &engine.Refusal{Check: "redirect", Reason: reason, Hint: hint}
}

// Redirect sends the clients where they are wanted, which may be another cluster. The members have no part in it: the
// services alone are changed, whatever state they are in.
func (p Situation) Redirect() *ops.Decision {
	o, c := p.S.Operation, p.S.Cluster
	if o == nil || o.Spec.Change == nil || o.Spec.Change.RedirectTo == nil || p.S.Kube.SentTo == c.Spec.RedirectTo {
		return nil
	}
	step := ops.Step{ID: "redirect/" + c.Spec.RedirectTo, Action: ops.ActionServices, Risk: ops.RiskNone,
		Deadline: StepDeadline, Title: "Send clients of " + c.Name + " to the members of " + c.Spec.RedirectTo,
		Reason:  "sessions that are open go on where they are",
		Touches: []string{"service/" + v1alpha1.ClientService(c.Name), "service/" + v1alpha1.ReadOnlyService(c.Name)}}
	if c.Spec.RedirectTo == "" {
		step.ID, step.Title = "redirect/"+c.Name, "Send clients of "+c.Name+" to its own members again"
	}
	return Do(step)
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
	if d := p.olderAgents(); d != nil {
		return d
	}
	return Do(ops.Step{ID: string(ops.ActionAccount), Action: ops.ActionAccount, Risk: ops.RiskNone,
		Deadline: StepDeadline, Touches: accountOf(p.S.Cluster.Name),
		Title: "Give the agents an account that may change the client service"})
}

// olderAgents refuses to have agents lead clients that would not start with that: they came with an older image.
func (p Situation) olderAgents() *ops.Decision {
	var older []string
	for _, m := range p.S.View.Members {
		if r, _ := p.S.View.Registered(m.Name); m.Reachable && !m.Routing && !r.Witness {
			older = append(older, m.Name)
		}
	}
	if len(older) == 0 || p.S.Cancelling() {
		return nil
	}
	c := p.S.Cluster
	return Block(&ops.Error{Kind: ops.Refused, Check: "routing",
		Message: fmt.Sprintf("the agents of %s are too old to lead clients straight to the primary, and would not start "+
			"with it: they come from the image %s", strings.Join(older, ", "), c.Spec.HelperImage),
		Hint: fmt.Sprintf("give them a newer one first: kubectl dbop configure %s --helper-image IMAGE; "+
			"or stay with --routing proxied", c.Name)})
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
