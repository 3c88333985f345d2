package health

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Unknown is the level of a cluster whose members could not be asked.
const Unknown Level = "unknown"

// Level is how a cluster is, in one word.
type Level string

// The levels. Degraded serves, but one more failure or a little more time may
// end that; Down does not serve.
const (
	Healthy  Level = "healthy"
	Degraded Level = "degraded"
	Down     Level = "down"
)

// Verdict is the judgement of a State for people and for conditions.
type Verdict struct {
	Level Level `json:"level"`
	// Database is how it is regardless of backups that are missing.
	Database Level `json:"-"`
	// Headline is one sentence without a full stop.
	Headline string `json:"headline"`
	// Problems are what is wrong, worst first, one sentence each.
	Problems []string `json:"problems,omitempty"`
	// Next are commands to type, most useful first.
	Next []string `json:"next,omitempty"`
}

// fullDisk is the share of a volume or quota from which on it is a problem.
const fullDisk = 0.85

// Assess judges a state. It is pure, and asks the engine for every judgement
// of a member.
func Assess(e engine.Engine, s ops.State, verbs ops.Verbs) Verdict {
	if s.Cluster == nil {
		return Verdict{Level: Down, Database: Down, Headline: "there is no such cluster"}
	}
	if s.Cluster.Spec.Stopped && s.Operation == nil {
		return Verdict{Level: Down, Database: Down, Headline: "it is stopped as asked for, and its volumes are kept",
			Next: []string{"kubectl dbop start " + s.Cluster.Name}}
	}
	a := assessment{e: e, s: s, verbs: verbs}
	v := a.verdict()
	if s.Orphaned {
		name := s.Cluster.Name
		v.Problems = append([]string{fmt.Sprintf(
			"databasecluster %s is missing, and no operator acts on the cluster: apply the object again, "+
				"or release the cluster from it, or end the cluster with kubectl dbop delete %s", name, name)}, v.Problems...)
		v.Next = append([]string{"kubectl dbop operator release " + name}, v.Next...)
		if v.Level == Healthy {
			v.Level = Degraded
		}
	}
	if failed := failedProof(s); failed != "" {
		v.backups(failed, verifyNew(s.Cluster.Name))
	}
	if b := Scheduled(s); b != nil && b.Problem != "" && b.Reason != FailedProof {
		v.backups(b.Problem, b.remedy(s.Cluster.Name))
	}
	return v
}

// backups adds a problem with backups, which degrades a cluster that is healthy.
func (v *Verdict) backups(problem, remedy string) {
	v.Problems = append(v.Problems, problem)
	if !slices.Contains(v.Next, remedy) {
		v.Next = append([]string{remedy}, v.Next...)
	}
	if v.Level == Healthy {
		v.Level = Degraded
	}
}

// verdict is about the database and its objects.
func (a *assessment) verdict() Verdict {
	if a.s.Unasked != "" {
		return a.unasked()
	}
	a.identity()
	a.differences()
	a.members()
	a.source()
	a.archive()
	a.capacity()
	a.certificates()
	a.size()
	a.authentication()
	v := Verdict{Problems: a.problems, Next: a.commands()}
	v.Level, v.Headline = a.level()
	v.Database = v.Level
	return v
}

// assessment gathers one verdict.
type assessment struct {
	e        engine.Engine
	s        ops.State
	verbs    ops.Verbs
	problems []string
	split    bool
	sick     []string
	// lost are those of the sick that have no volume any more.
	lost []string
	// unseen are silent nodes whose members answer all the same.
	unseen []string
	// renew are the commands that certificates ask for, mend those that
	// differences ask for.
	renew, mend []string
	// room is the command that makes room on disks, full that one of them is full.
	room string
	full bool
}

func (a *assessment) problem(format string, args ...any) {
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

// identity searches for members of different clusters.
func (a *assessment) identity() {
	recorded := a.s.Bootstrap().ClusterID
	switch ids := a.s.View.ClusterIDs; {
	case len(ids) > 1:
		a.split = true
		a.problem("the members belong to different database clusters: %s", strings.Join(ids, ", "))
	case len(ids) == 1 && recorded != "" && ids[0] != recorded:
		a.split = true
		a.problem("the members say cluster ID %s, but %s was recorded", ids[0], recorded)
	}
	if names := a.s.View.Rivals(); len(names) > 0 {
		a.split = true
		a.problem("%s both lead: a write to one of them may be lost", strings.Join(names, " and "))
	}
	if len(a.s.Kube.Foreign) > 0 {
		a.problem("objects that are not this cluster's bear its names: %s", strings.Join(a.s.Kube.Foreign, ", "))
	}
}

// members asks the engine about each member that is, or should be, one.
func (a *assessment) members() {
	for _, name := range a.names() {
		facts := a.s.Kube.Member(name)
		if a.s.VolumeMissing(facts) {
			a.sick = append(a.sick, name)
			a.lost = append(a.lost, name)
			a.problem("%s: its volume is gone, and its copy of the data with it", name)
			continue
		}
		if p := firstProblem(facts.Pod.Problem, facts.Volume.Problem); p != nil {
			if p.Kind == observe.ProblemNode && a.e.Health(a.s.View, name) == nil {
				// Kubernetes lost sight of the node. The member says itself how it is.
				a.unseen = append(a.unseen, facts.Pod.Node)
			} else {
				a.sick = append(a.sick, name)
			}
			if said := a.s.View.Member(name); said.Disk.Full() {
				a.problem("the disk of %s is %s", name, said.Disk)
			}
			a.problem("%s: %s: %s", name, p.Kind, p.Message)
			continue
		}
		if err := a.e.Health(a.s.View, name); err != nil {
			a.sick = append(a.sick, name)
			a.problem("%s", err)
		}
	}
}

// source tells when the server can't be followed that the data comes from.
func (a *assessment) source() {
	if from := a.s.View.Source; from != nil && (from.Problem != "" || from.Following && !from.Linked) {
		a.problem("%s", from.Text())
	}
}

// names are the registered members, else the founding ones.
func (a *assessment) names() []string {
	var names []string
	for _, r := range a.s.View.MemberList {
		if v1alpha1.MemberNumber(a.s.Cluster.Name, r.Name) > 0 {
			names = append(names, r.Name)
		}
	}
	if len(names) > 0 {
		return names
	}
	for _, m := range a.s.Kube.Members {
		if a.s.Ours(m) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		names = slices.Clone(a.s.Bootstrap().Members)
	}
	return names
}

// size tells when there are not as many voters as wanted and nobody works on it.
func (a *assessment) size() {
	if text := a.wrongSize(); text != "" {
		a.problem("%s", text)
	}
}

// wrongSize says what is wrong with the number of members; "" for nothing.
func (a *assessment) wrongSize() string {
	n := len(a.s.View.Joined())
	data, witnesses := ops.Missing(a.e, a.s)
	switch {
	case n == 0 || a.s.Operation != nil:
	case data+witnesses != 0:
		return fmt.Sprintf("%d members vote, %d are wanted", n, n+data+witnesses)
	case witnesses > 0:
		return "a member holds data whose place is that of a witness"
	case witnesses < 0:
		return "a witness is in the place of a member with data"
	}
	return ""
}

// level sums up.
func (a *assessment) level() (Level, string) {
	total := len(a.names())
	well := total - len(a.sick)
	switch {
	case a.split:
		return Down, "the members do not form one cluster"
	case !a.s.Formed():
		return Down, fmt.Sprintf("the cluster has not formed yet: %d of %d members are up", well, total)
	case !a.serves():
		return Down, fmt.Sprintf("the cluster does not serve: %d of %d members are healthy", well, total)
	case len(a.problems) > 0:
		return Degraded, fmt.Sprintf("%d of %d members are healthy, %s", well, total, a.margin())
	}
	text := fmt.Sprintf("all %d members are healthy, %s", total, a.margin())
	leader, leads := a.s.View.Leader()
	if from := a.s.View.Source; from != nil {
		text += "; it takes no writes, as it follows " + from.Address
	} else if leads && len(leader.Closed) > 0 {
		text += "; it lets nobody into " + strings.Join(leader.Closed, ", ")
	}
	if to := a.s.Kube.SentTo; to != "" {
		text += "; its clients are sent to " + to
	}
	return Healthy, text
}

// serves reports whether clients can write, as far as the members say. Where no leader is elected by a quorum alone,
// one has to be known.
func (a *assessment) serves() bool {
	_, leads := a.s.View.Leader()
	switch c := a.e.Capabilities(); {
	case !c.Quorum:
		return leads
	case !c.Failover:
		return a.s.View.Quorum
	}
	return a.s.View.Quorum && (leads || slices.ContainsFunc(a.s.View.Members, a.led))
}

// led reports whether a member names one that leads. Whether that one serves, it knows best itself, if it answers.
func (a *assessment) led(m engine.Member) bool {
	i := slices.IndexFunc(a.s.View.Members, func(of engine.Member) bool { return of.ID == m.Leader })
	return m.Leader != "" && (i < 0 || !a.s.View.Members[i].Reachable || a.s.View.Members[i].Serving)
}

// margin says what else may fail.
func (a *assessment) margin() string {
	switch n := a.e.Tolerates(a.s.View); {
	case n < 0:
		return "no majority is left"
	case n == 0:
		return "no further failure is tolerated"
	case n == 1:
		return "1 more failure is tolerated"
	default:
		return fmt.Sprintf("%d more failures are tolerated", n)
	}
}

func firstProblem(problems ...*observe.Problem) *observe.Problem {
	for _, p := range problems {
		if p != nil {
			return p
		}
	}
	return nil
}
