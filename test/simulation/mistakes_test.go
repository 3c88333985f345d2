package simulation

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

var mistakeFlag = flag.String("mistake", "", "simulate with this deliberate mistake only")

// mistake is a planner that is wrong in one way.
type mistake struct {
	name     string
	decide   decider
	mischief Mischief
}

// mistakes are made on purpose, to see that the simulation notices.
func mistakes() []mistake {
	return []mistake{
		{name: "seal skipped", decide: bootstrapNotDisabled},
		{name: "promotion skipped", decide: promotionSkipped},
		{name: "retired without quorum", decide: retiredWithoutQuorum},
		{name: "upgraded without waiting for health", decide: upgradedBlindly},
		{name: "leader upgraded first", decide: leaderFirst},
		{name: "leader rolled first", decide: leaderRolledFirst},
		{name: "downgraded as soon as it is announced", decide: storageIgnored},
		{name: "two learners at once", decide: twoLearners},
		{name: "learner limits not observed", decide: limitsWished},
		{name: "volumes of other incarnations dropped", decide: incarnationsMixed},
		{name: "disruption budget not kept", decide: budgetOmitted},
		{name: "authentication before its users", decide: authFirst},
		{name: "a joiner that hangs waited for", decide: neverRevived},
		{name: "a silent voter restarted", decide: voterRevived},
		{name: "paused and not obeyed", decide: pauseIgnored},
		{name: "a new authority takes over before members are ready", decide: promotedEarly},
		{name: "members not restarted for the authorities that they accept", decide: neverReloaded},
		{name: "clients go over before members trust them", decide: clientsFirst},
		{name: "the source of a backup misnamed", decide: planner.Decide, mischief: Mischief{SourceMisnamed: true}},
		{name: "joiners started as initial members", decide: planner.Decide, mischief: Mischief{BootstrapJoiners: true}},
	}
}

// enough worlds to notice any of them.
const enough = 4000

// TestMistakes makes one mistake at a time; each must be caught.
func TestMistakes(t *testing.T) {
	for _, m := range mistakes() {
		if *mistakeFlag != "" && *mistakeFlag != m.name {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			for seed := max(*seedFlag, 1); seed < max(*seedFlag, 1)+enough; seed++ {
				if o := play(t, etcd.New(), seed, m.mischief, m.decide); o.broken != "" {
					t.Logf("caught in world %d: %s", seed, o.broken)
					return
				}
			}
			t.Errorf("not caught in %d worlds", enough)
		})
	}
}

func bootstrapNotDisabled(e engine.Engine, s ops.State) ops.Decision {
	s.Kube.Members = slices.Clone(s.Kube.Members)
	for i := range s.Kube.Members {
		s.Kube.Members[i].Workload.Bootstrap = false
	}
	return planner.Decide(e, s)
}

func promotionSkipped(e engine.Engine, s ops.State) ops.Decision {
	s.View.MemberList = slices.Clone(s.View.MemberList)
	s.View.Members = slices.Clone(s.View.Members)
	for i, r := range s.View.MemberList {
		if r.Started && !r.Voter {
			s.View.MemberList[i].Voter = true
			for j := range s.View.Members {
				if s.View.Members[j].Name == r.Name {
					s.View.Members[j].Serving, s.View.Members[j].Role = true, engine.RoleFollower
				}
			}
		}
	}
	return planner.Decide(e, s)
}

func retiredWithoutQuorum(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Step == nil || d.Step.ID != "wait/quorum" {
		return d
	}
	for _, m := range s.Kube.Members {
		if !s.View.Member(m.Name).Reachable && m.Workload.Exists {
			return ops.Decision{Step: &ops.Step{ID: "retire-member/" + m.Name, Action: ops.ActionRetire,
				Members: []string{m.Name}, Risk: ops.RiskIrreversible, Deadline: d.Step.Deadline}}
		}
	}
	return d
}

// upgradedBlindly believes that whatever was upgraded is well.
func upgradedBlindly(e engine.Engine, s ops.State) ops.Decision {
	leader, ok := s.View.Leader()
	if s.Operation == nil || s.Operation.Spec.Verb != v1alpha1.VerbUpgrade || !ok {
		return planner.Decide(e, s)
	}
	s.View.Members = slices.Clone(s.View.Members)
	for i, m := range s.View.Members {
		r, registered := s.View.Registered(m.Name)
		if k := s.Kube.Member(m.Name); registered && !m.Reachable && k.Workload.Version == s.Cluster.Spec.Version {
			s.View.Members[i] = engine.Member{Name: m.Name, ID: r.ID, Reachable: true, Serving: true,
				Role:      engine.RoleFollower,
				ClusterID: leader.ClusterID,
				Leader:    leader.ID, Version: k.Workload.Version, Protocol: leader.Protocol, Position: leader.Position}
		}
	}
	return planner.Decide(e, s)
}

func leaderFirst(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	leader, ok := s.View.Leader()
	if d.Step == nil || d.Step.Action != ops.ActionUpgrade || !ok ||
		s.Kube.Member(leader.Name).Pod.Version == s.Cluster.Spec.Version {
		return d
	}
	step := *d.Step
	step.ID, step.Members = "upgrade-member/"+leader.Name, []string{leader.Name}
	return ops.Decision{Step: &step}
}

func leaderRolledFirst(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	leader, ok := s.View.Leader()
	if d.Step == nil || d.Step.Action != ops.ActionRoll || !ok ||
		s.Kube.Member(leader.Name).Pod.Settings != s.Kube.Member(d.Step.Members[0]).Pod.Settings {
		return d
	}
	step := *d.Step
	step.ID, step.Members = "roll-member/"+leader.Name, []string{leader.Name}
	return ops.Decision{Step: &step}
}

// storageIgnored takes the announcement for its effect.
func storageIgnored(e engine.Engine, s ops.State) ops.Decision {
	if s.Operation != nil && s.Operation.Spec.Verb == v1alpha1.VerbDowngrade && s.View.Downgrade != "" {
		s.View.Members = slices.Clone(s.View.Members)
		for i := range s.View.Members {
			s.View.Members[i].Protocol, s.View.Members[i].Schema = s.View.Downgrade, s.View.Downgrade
		}
	}
	return planner.Decide(e, s)
}

func twoLearners(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Step == nil || (d.Step.Action != ops.ActionPromote && d.Step.ID != "wait/joined") ||
		len(s.View.MemberList) >= int(s.Cluster.Spec.Members) {
		return d
	}
	name := freeName(s)
	return ops.Decision{Step: &ops.Step{ID: "register-member/" + name, Action: ops.ActionRegister,
		Members:  []string{name},
		Deadline: d.Step.Deadline}}
}

// limitsWished takes all members for ones that allow two learners.
func limitsWished(e engine.Engine, s ops.State) ops.Decision {
	s.Kube.Members = slices.Clone(s.Kube.Members)
	for i := range s.Kube.Members {
		s.Kube.Members[i].Workload.JoinLimit, s.Kube.Members[i].Pod.JoinLimit = 2, 2
	}
	return planner.Decide(e, s)
}

func incarnationsMixed(e engine.Engine, s ops.State) ops.Decision {
	if s.Cluster != nil && s.Operation != nil && s.Operation.Spec.Verb == v1alpha1.VerbDelete {
		s.Kube.Members = slices.Clone(s.Kube.Members)
		for i := range s.Kube.Members {
			s.Kube.Members[i].Volume.Token = s.Cluster.Status.Bootstrap.Token
		}
	}
	return planner.Decide(e, s)
}

func budgetOmitted(e engine.Engine, s ops.State) ops.Decision {
	if s.Cluster != nil {
		if n := max(len(s.View.Voters()), int(s.Cluster.Spec.Members)); n > 1 {
			b := int32(n/2 + 1)
			s.Kube = observe.Facts{Members: s.Kube.Members, Certificates: s.Kube.Certificates, Services: s.Kube.Services,
				Budget: &b}
		}
	}
	return planner.Decide(e, s)
}

// authFirst enables authentication while the applications' user is missing.
func authFirst(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Step != nil && d.Step.ID == "ensure-user/client" && s.View.Auth() == engine.AuthOff {
		return ops.Decision{Step: &ops.Step{ID: "enable-auth", Action: ops.ActionEnableAuth, Deadline: d.Step.Deadline}}
	}
	return d
}

// neverRevived waits for a joiner, however long it says nothing.
func neverRevived(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Step == nil || d.Step.Action != ops.ActionRevive {
		return d
	}
	return ops.Decision{Why: "it does not answer", Step: &ops.Step{ID: "wait/joined", Action: ops.ActionWait,
		Members: d.Step.Members, Deadline: 3 * time.Minute}}
}

// voterRevived takes a voter that does not answer for a joiner that hangs.
func voterRevived(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Step == nil || d.Step.Action != ops.ActionWait {
		return d
	}
	for _, r := range s.View.Voters() {
		if !s.View.Member(r.Name).Reachable && s.Kube.Member(r.Name).Pod.Running {
			return ops.Decision{Step: &ops.Step{ID: "revive-member/" + r.Name, Action: ops.ActionRevive,
				Members: []string{r.Name}, Deadline: time.Minute}}
		}
	}
	return d
}

// pauseIgnored goes on whatever a person asked for.
func pauseIgnored(e engine.Engine, s ops.State) ops.Decision {
	if s.Cluster != nil {
		s.Cluster = s.Cluster.DeepCopy()
		s.Cluster.Spec.Paused = false
	}
	return planner.Decide(e, s)
}

// promotedEarly lets the new authority sign, and drops the old one, while
// members still serve certificates of the old.
func promotedEarly(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Step == nil || d.Step.Action != ops.ActionRenew || !d.Step.NextCA || len(d.Step.Members) == 0 {
		return d
	}
	return ops.Decision{Step: &ops.Step{ID: "promote-authority", Action: ops.ActionPromoteCA, Risk: ops.RiskIrreversible,
		Deadline: d.Step.Deadline}}
}

// neverReloaded takes what is in the secrets for what members accept.
func neverReloaded(e engine.Engine, s ops.State) ops.Decision {
	if s.Kube.Trust == nil {
		return planner.Decide(e, s)
	}
	s.View.Members = slices.Clone(s.View.Members)
	for i := range s.View.Members {
		if c := s.View.Members[i].Certificate; c != nil {
			believed := *c
			believed.Accepts = nil
			for _, a := range s.Kube.Trust.Bundle() {
				believed.Accepts = append(believed.Accepts, a.Subject)
			}
			slices.Sort(believed.Accepts)
			s.View.Members[i].Certificate = &believed
		}
	}
	return planner.Decide(e, s)
}

// clientsFirst gives clients certificates of an authority that members don't
// accept yet.
func clientsFirst(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Step == nil || d.Step.ID != "distribute-trust" || s.Kube.Trust.Next == nil {
		return d
	}
	secret := v1alpha1.ClientSecret(s.Cluster.Name)
	if l, _ := s.Kube.Leaf(secret); l.Signer == s.Kube.Trust.Next.Fingerprint {
		return d
	}
	return ops.Decision{Step: &ops.Step{ID: "renew-certificate/" + secret, Action: ops.ActionRenew, Secret: secret,
		NextCA: true, Deadline: d.Step.Deadline}}
}
