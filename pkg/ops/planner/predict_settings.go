package planner

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// configured predicts that the members agreed on the wanted settings. Some of them a server takes only at its start.
func configured(s *ops.State, e engine.Engine) {
	live, ok := e.(engine.LiveSettings)
	if !ok {
		return
	}
	want, err := live.LiveOptions(s.Cluster.Spec)
	if err != nil {
		return
	}
	late := live.AtStart(s.Cluster.Spec.Version, rules.ChangedOptions(s.View.Settings, want))
	held := live.LeaderFirst(s.View.Settings, want)
	s.View.Settings = want
	for i := range s.View.Members {
		m := &s.View.Members[i]
		if r, _ := s.View.Registered(m.Name); r.Witness {
			continue
		}
		m.Pending = late
		if !m.Role.Leads() {
			m.Held = held
			m.Pending = slices.DeleteFunc(slices.Clone(late), func(name string) bool { return slices.Contains(held, name) })
		}
	}
}

// handedOver predicts that another member leads, with settings that the others waited for.
func handedOver(s *ops.State, to string) {
	s.Lead(to)
	for i := range s.View.Members {
		m := &s.View.Members[i]
		if m.Name != to {
			m.Pending = append(slices.Clone(m.Pending), m.Held...)
		}
		m.Held = nil
	}
}
