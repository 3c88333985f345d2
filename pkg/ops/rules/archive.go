package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// Archive is what the workload that archives a log is made of.
type Archive struct {
	// Repository takes the log, by its name; "" for none.
	Repository string `json:"repository"`
	// Members are asked for it, Token is that of their incarnation.
	Members []string `json:"members"`
	Token   string   `json:"token"`
}

// Digest tells one from another.
func (a Archive) Digest() string {
	raw, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings can be written down
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// Archive is the one that is wanted, of the members that have a volume.
func (p Situation) Archive() Archive {
	out := Archive{Repository: health.ArchiveRepository(p.E, p.S), Token: p.S.Bootstrap().Token}
	for _, m := range p.S.Kube.Members {
		if m.Volume.Exists && !m.Volume.Terminating && p.S.Ours(m) {
			out.Members = append(out.Members, m.Name)
		}
	}
	slices.Sort(out.Members)
	return out
}

// Archiving has the log archived as the settings ask for, or not any more. A cluster that is stopped has no log to
// archive.
func (p Situation) Archiving() *ops.Decision {
	have, want, name := p.S.Kube.Archive, p.Archive(), v1alpha1.Archive(p.S.Cluster.Name)
	step := ops.Step{ID: string(ops.ActionArchive), Action: ops.ActionArchive, Risk: ops.RiskNone,
		Deadline: StepDeadline, Touches: []string{health.KindWorkload + "/" + name}}
	switch {
	case p.Traits.OnlyReads || !have.Exists && (want.Repository == "" || p.S.Cluster.Spec.Stopped):
		return nil
	case have.Terminating:
		return p.Await("archive", step.Touches[0]+" is being deleted")
	case want.Repository == "":
		step.ID, step.Action = string(ops.ActionUnarchive), ops.ActionUnarchive
		step.Title = "Archive the log no more; what is archived stays"
		return Do(step)
	}
	altered := slices.IndexFunc(p.S.Kube.Differences, func(d drift.Difference) bool { return health.OfArchive(p.S, d) })
	switch {
	case p.S.Cluster.Spec.Stopped && have.Idle:
		return nil
	case p.S.Cluster.Spec.Stopped:
		step.Title = "Archive no log while it is stopped"
		return Do(step)
	case altered >= 0:
		step.Reason = health.Change(p.S.Kube.Differences[altered])
	case have.Exists && have.Settings == want.Digest() && !have.Idle:
		return nil
	case have.Exists && !have.Idle:
		step.Reason = "it asks other members, or stores the log elsewhere"
	}
	step.Title = "Archive the log to " + want.Repository
	return Do(step)
}
