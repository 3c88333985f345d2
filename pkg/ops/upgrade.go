package ops

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// upgrade moves members to the wanted version one by one: those that don't
// take part first, then followers, the leader last after it handed over to a
// member that is upgraded already. Between two of them every member must be
// healthy. It goes back the same way while the engine still allows it. No
// other verb restarts members for their version: whoever asked for it gave up,
// and the checks and the backup of an upgrade belong to it.
func (p planner) upgrade() *Decision {
	if p.s.verb() != v1alpha1.VerbUpgrade {
		return nil
	}
	outdated := p.outdated()
	if len(outdated) == 0 {
		if d := p.settledAt(p.voterNames()); d != nil {
			return d
		}
		if err := p.e.CheckUpgraded(p.s.View, p.s.Cluster.Spec.Version); err != nil && !p.s.cancelling() {
			return p.await("upgraded", err.Error(), p.voterNames()...)
		}
		return nil
	}
	if d := p.mayUpgrade(); d != nil {
		return d
	}
	if d := p.settledAt(p.upToDate(outdated)); d != nil {
		return d
	}
	next := p.nextOutdated(outdated)
	for _, name := range p.voterNames() {
		if name == next {
			continue
		}
		if err := p.e.Health(p.s.View, name); err != nil {
			return p.gate("healthy", err, name)
		}
	}
	risk := RiskRestart
	if p.restartStops() {
		risk = RiskDowntime
	}
	if leader, ok := p.s.View.Leader(); ok && leader.Name == next && len(p.voterNames()) > 1 && p.e.Capabilities().HandOver {
		if d := p.handOver(next, "the leader restarts last, after it handed over to an upgraded member", outdated...); d != nil {
			return d
		}
	}
	return do(Step{ID: "upgrade-member/" + next, Action: ActionUpgrade, Members: []string{next}, Risk: risk, Deadline: waitDeadline,
		Title:   fmt.Sprintf("Restart %s on %s", next, p.s.Cluster.Spec.Version),
		Touches: []string{"statefulset/" + next, "pod/" + v1alpha1.PodName(next)}})
}

// mayUpgrade asks everything that must hold before, and again during, the roll.
func (p planner) mayUpgrade() *Decision {
	target := p.s.Cluster.Spec.Version
	if p.s.cancelling() {
		return p.mayRollBack(target)
	}
	if p.restarted() {
		return nil
	}
	if err := p.e.CheckUpgrade(p.s.View, p.s.Cluster.Spec, target); err != nil {
		return p.gate("may-upgrade", err, p.voterNames()...)
	}
	if n := len(p.voterNames()); p.restartStops() && !p.s.waives("downtime") {
		return block(&Error{Kind: Refused, Check: "downtime",
			Message: fmt.Sprintf("a cluster of %d is down while a member restarts", n),
			Hint:    "add members first, or accept it: --allow-downtime"})
	}
	if !p.s.waives("backup") {
		if d := p.backupFirst(true, true); d != nil {
			return d
		}
	}
	return p.prepare(target)
}

// prepare does to the running members what the engine needs before the first restart.
func (p planner) prepare(target string) *Decision {
	why := p.e.Preparation(p.s.View, target)
	if why == "" || p.s.fact(v1alpha1.FactPrepared) != "" {
		return nil
	}
	return do(Step{ID: "prepare-upgrade", Action: ActionPrepare, Members: p.voterNames(), Risk: RiskNone, Deadline: waitDeadline,
		Title: "Prepare the members for " + target, Reason: why})
}

// mayRollBack asks whether the way back is open still. Once every member runs
// the newer series, the database may take the last step at any moment, between
// this look and the next deed too, and an older member would never start again.
func (p planner) mayRollBack(target string) *Decision {
	if err := p.e.CheckRollback(p.s.View, target); err != nil {
		return block(refused(err))
	}
	newer := p.s.Operation.Spec.Version
	if minor(newer) == minor(target) {
		return nil
	}
	for _, name := range p.voterNames() {
		if pod := p.s.Kube.Member(name).Pod; !pod.Running || pod.Version != newer {
			return nil
		}
	}
	return block(&Error{Kind: Refused, Check: "rollback",
		Message: fmt.Sprintf("every member runs %s already, so the data may change its format at any moment", newer),
		Hint:    "finish it: kubectl dbop resume " + p.s.Cluster.Name + "; the way back is a restore"})
}

// mending gives a member that can't start the wanted version while there is no
// quorum: it has nothing to lose, and quorum may never come back without it.
// It serves an upgrade whose restarts have begun, and its way back.
func (p planner) mending() *Decision {
	if p.s.verb() != v1alpha1.VerbUpgrade || p.s.View.Quorum || !p.rolling() {
		return nil
	}
	want := p.s.Cluster.Spec.Version
	for _, m := range p.s.Kube.Members {
		if !p.s.ours(m) || !m.Workload.Exists || m.Pod.Running || !p.needsVersion(m.Pod.Problem) {
			continue
		}
		if m.Workload.Version != want || m.Pod.Version != want {
			return do(Step{ID: "upgrade-member/" + m.Name, Action: ActionUpgrade, Members: []string{m.Name}, Risk: RiskNone, Deadline: waitDeadline,
				Title: fmt.Sprintf("Give %s version %s", m.Name, want), Reason: "it does not start as it is, and without it there is no quorum",
				Touches: []string{"statefulset/" + m.Name, "pod/" + v1alpha1.PodName(m.Name)}})
		}
	}
	return nil
}

// rolling reports whether restarts have begun, and, on the way back, whether a
// member is left that was never moved: without one the data may have changed
// its format, and putting more members back would only lose more of them.
func (p planner) rolling() bool {
	if p.s.cancelling() {
		for _, m := range p.s.Kube.Members {
			want := p.s.Cluster.Spec.Version
			if p.s.ours(m) && m.Workload.Exists && m.Workload.Version == want && (!m.Pod.Exists || m.Pod.Version == want) {
				return true
			}
		}
		return false
	}
	return p.restarted()
}

// restarted reports whether this operation has moved a member, as its journal
// says: members that run the wanted version already may have joined with it.
func (p planner) restarted() bool {
	for _, e := range p.s.Operation.Status.Journal {
		if strings.HasPrefix(e.Step, string(ActionUpgrade)+"/") {
			return true
		}
	}
	return false
}

// needsVersion reports whether a problem has lasted, and another version may mend it.
func (p planner) needsVersion(problem *kube.Problem) bool {
	if problem == nil || p.s.Now.Sub(problem.Since) <= patience {
		return false
	}
	return problem.Kind == kube.ProblemImage || problem.Kind == kube.ProblemCrashing || problem.Kind == kube.ProblemConfig
}

// restartStops reports whether the cluster is down while one member restarts:
// a cluster of one, and of two where writes need a majority.
func (p planner) restartStops() bool {
	n := len(p.voterNames())
	return n == 1 || (p.e.Capabilities().Quorum && n-1 < n/2+1)
}

// outdated lists voters whose workload or pod is not of the wanted version.
func (p planner) outdated() []string {
	var out []string
	for _, name := range p.voterNames() {
		m := p.s.Kube.Member(name)
		if m.Workload.Exists && (m.Workload.Version != p.s.Cluster.Spec.Version || (m.Pod.Exists && m.Pod.Version != p.s.Cluster.Spec.Version)) {
			out = append(out, name)
		}
	}
	return out
}

// upToDate is the rest of the voters.
func (p planner) upToDate(outdated []string) []string {
	old := map[string]bool{}
	for _, o := range outdated {
		old[o] = true
	}
	var out []string
	for _, name := range p.voterNames() {
		if !old[name] {
			out = append(out, name)
		}
	}
	return out
}

// settledAt waits until those members run the wanted version and are healthy: the pause on red.
func (p planner) settledAt(names []string) *Decision {
	for _, name := range names {
		m := p.s.View.Member(name)
		if err := p.e.Health(p.s.View, name); err != nil {
			return p.await("healthy", err.Error(), name)
		}
		if m.Version != p.s.Cluster.Spec.Version {
			return p.await("healthy", fmt.Sprintf("%s still runs %s", name, m.Version), name)
		}
	}
	return nil
}

// nextOutdated picks a member that doesn't take part, else a follower, else the leader.
func (p planner) nextOutdated(outdated []string) string {
	for _, name := range outdated {
		if p.e.Health(p.s.View, name) != nil {
			return name
		}
	}
	for _, name := range outdated {
		if !p.s.View.Member(name).Role.Leads() {
			return name
		}
	}
	return outdated[0]
}
