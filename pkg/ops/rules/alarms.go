package rules

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// WithoutAlarms is the situation as the planner judges it. For want of space a
// member neither votes nor serves any worse. So nobody begins to change size or
// version under that alarm; whatever else is asked for goes on, and so does
// what is in flight already, for nothing can clear the alarm before it ends. Of
// damage the engine may accuse the wrong member, so it bars nobody's
// replacement; whatever else restarts members leaves them alone under it.
func (p Situation) WithoutAlarms() Situation {
	switch {
	case p.S.Operation == nil:
		return p
	case p.Traits.DespiteDamage:
		p.S.View = p.S.View.WithoutAlarms(engine.CauseSpace, engine.CauseDamage)
		return p
	case p.Traits.NeedsSpace && p.Fresh() && !p.writtenDown():
		return p
	}
	p.S.View = p.S.View.WithoutAlarms(engine.CauseSpace)
	return p
}

// undamaged refuses to restart members of which one may be damaged: it might
// not come up again, and a majority may hang on it.
func (p Situation) undamaged() *ops.Decision {
	for _, a := range p.S.View.Raised(engine.CauseDamage) {
		return Block(&ops.Error{Kind: ops.Refused, Check: "damage",
			Message: fmt.Sprintf("%s is raised for %s, and a damaged member may not come up again", a.Name, health.Whose(a)),
			Hint: fmt.Sprintf("kubectl dbop alarms clear %s compares all members and says which one is damaged",
				p.S.Cluster.Name)})
	}
	return nil
}
