package rules

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// MayRestart asks for quorum, and for consent where a restart means downtime.
func (p Situation) MayRestart() *ops.Decision {
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	for _, name := range p.VoterNames() {
		if p.S.VolumeMissing(p.S.Kube.Member(name)) {
			return p.Gate("healthy", &engine.Refusal{Check: "lost", Reason: "the volume of " + name +
				" is gone, and no restart brings it back",
				Hint: p.replaceFirst(name).Hint}, name)
		}
	}
	if d := p.undamaged(); d != nil {
		return d
	}
	return p.MayStop()
}

// MayStop asks for consent where a restart stops the cluster.
func (p Situation) MayStop() *ops.Decision {
	if p.RestartStops() && !p.S.Waives("downtime") {
		return Block(&ops.Error{Kind: ops.Refused, Check: "downtime",
			Message: fmt.Sprintf("a cluster of %d is down while a member restarts", len(p.VoterNames())),
			Hint:    "add members first, or accept it: --allow-downtime"})
	}
	return nil
}
