package planner

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// forgot assumes that all space was taken by history: how much it was shows
// only once it is gone.
func forgot(s *ops.State) {
	for i := range s.View.Members {
		s.View.Members[i].UsedBytes = 0
	}
}

// freed shrinks a member's file to what is in use.
func freed(s *ops.State, member string) {
	for i := range s.View.Members {
		if m := &s.View.Members[i]; m.Name == member {
			m.DataBytes = min(m.DataBytes, m.UsedBytes)
		}
	}
}

// cleared takes alarms of a name back.
func cleared(s *ops.State, alarm string) {
	s.View.Alarms = slices.DeleteFunc(slices.Clone(s.View.Alarms), func(a engine.Alarm) bool { return a.Name == alarm })
	for i := range s.View.Members {
		m := &s.View.Members[i]
		m.Alarms = slices.DeleteFunc(slices.Clone(m.Alarms), func(name string) bool { return name == alarm })
	}
	unsetFact(s, v1alpha1.FactCompared)
}
