package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Evidence is what an observation shows of a cluster's chances to serve again. It is
// the judgement of Diagnose, taken apart for the person that has to choose.
type Evidence struct {
	// Serves: there is a quorum, and nothing to recover from.
	Serves bool `json:"serves"`
	Loss   Loss `json:"loss,omitempty"`
	// Voters is how many members voted, as far as that is known.
	Voters int `json:"voters"`
	// Kept are the members whose volume exists; of the Doubtful among them it
	// is not proven that it can be used. Gone are those without a volume.
	Kept     []string `json:"kept,omitempty"`
	Doubtful []string `json:"doubtful,omitempty"`
	Gone     []string `json:"gone,omitempty"`
	// Members holds one line for each: pod, volume, node, and what it says.
	Members []string `json:"members"`
	// Verdict is one sentence; Proposed the way back that loses least.
	Verdict  string                  `json:"verdict"`
	Proposed v1alpha1.RecoveryMethod `json:"proposed,omitempty"`
}

// AssessLoss gathers the evidence. It is pure. Volumes that a person leaves out of
// account count as gone.
func AssessLoss(e engine.Engine, s ops.State, without ...string) Evidence {
	d := &Examination{e: e, S: s, name: s.Cluster.Name}
	out := Evidence{Serves: s.View.Quorum, Voters: d.electorate()}
	for _, name := range d.members() {
		out.Members = append(out.Members, d.witness(name))
	}
	kept, gone := d.volumes()
	for _, name := range kept {
		if slices.Contains(without, name) {
			gone = append(gone, name)
		} else {
			out.Kept = append(out.Kept, name)
		}
	}
	out.Gone, out.Doubtful = gone, d.doubtful(out.Kept)
	need := ops.Majority(out.Voters)
	switch {
	case out.Serves:
		out.Verdict = "a majority agrees: there is nothing to recover from"
	case len(out.Kept)-len(out.Doubtful) >= need:
		out.Loss, out.Proposed = LossTransient, v1alpha1.RecoverBringBack
		out.Verdict = fmt.Sprintf("transient: %d of %d volumes exist, %d are a majority; nothing is lost", len(out.Kept),
			out.Voters, need)
	case len(out.Kept) >= need:
		out.Loss, out.Proposed = LossTransient, v1alpha1.RecoverBringBack
		out.Verdict = fmt.Sprintf(
			"transient as far as it shows: %d of %d volumes exist, but whether they can be used is not proven of %s",
			len(out.Kept), out.Voters, strings.Join(out.Doubtful, ", "))
	case len(out.Kept) > 0:
		out.Loss, out.Proposed = LossPermanent, v1alpha1.RecoverData
		out.Verdict = fmt.Sprintf("permanent: %d of %d volumes exist, %d are a majority", len(out.Kept), out.Voters, need)
	default:
		out.Loss, out.Proposed = LossPermanent, v1alpha1.RecoverBackup
		out.Verdict = "permanent: no volume is left"
	}
	return out
}

// witness is one line on one member.
func (d *Examination) witness(name string) string {
	m, said := d.S.Kube.Member(name), d.S.View.Member(name)
	volume := "volume exists"
	switch v := m.Volume; {
	case !v.Exists:
		volume = "volume gone"
	case v.Terminating:
		volume = "volume being deleted"
	case v.Token != d.S.Bootstrap().Token:
		volume = "volume of an earlier life"
	case !d.hasVolume(name):
		volume = "volume can't be had: " + v.Problem.Message
	}
	pod := "no pod"
	switch {
	case m.Pod.Problem != nil:
		pod = fmt.Sprintf("pod: %s: %s", m.Pod.Problem.Kind, m.Pod.Problem.Message)
	case m.Pod.Terminating:
		pod = "pod stopping"
	case m.Pod.Running:
		pod = "pod runs"
	case m.Pod.Exists:
		pod = "pod starting"
	case !m.Workload.Exists:
		pod = "no workload"
	}
	if m.Pod.Node != "" {
		pod += " on " + m.Pod.Node
	}
	says := "does not answer"
	if said.Reachable {
		says = fmt.Sprintf("answers as %s of %s at %s", said.Role, said.ClusterID,
			cmp.Or(string(said.Position), "an unknown position"))
	}
	return fmt.Sprintf("%s: %s, %s, %s", name, volume, pod, says)
}

// Losses says what a recovery by this method loses, or may, and what it keeps.
func (e Evidence) Losses(by engine.Engine, method v1alpha1.RecoveryMethod) (lost, kept []string) {
	if method == v1alpha1.RecoverBringBack {
		return nil, []string{"all data: only pods are made"}
	}
	if len(e.Kept) > 0 {
		kept = append(kept, "the volumes of "+strings.Join(e.Kept, ", ")+", untouched")
	}
	if method == v1alpha1.RecoverData {
		lost = append(lost, "writes that were acknowledged and that only members without a volume had: "+
			cmp.Or(strings.Join(e.Gone, ", "), "none is known"))
		if recoverer, ok := by.(engine.DataRecoverer); ok && recoverer.RecoveryNotice() != "" {
			lost = append(lost, recoverer.RecoveryNotice())
		}
	}
	return lost, kept
}

// Unreachable are the members whose pod nobody can see gone, for their node
// does not answer and nobody said that it is dead.
func Unreachable(s ops.State, dead []string) []observe.Member {
	var out []observe.Member
	for _, m := range s.Kube.Members {
		if OnLostNode(s, m) && !slices.Contains(dead, m.Name) {
			out = append(out, m)
		}
	}
	return out
}

// OnLostNode reports whether the pod of a member is on a node that does not answer.
func OnLostNode(s ops.State, m observe.Member) bool {
	return m.Pod.Exists && m.Pod.Problem != nil && m.Pod.Problem.Kind == observe.ProblemNode
}
