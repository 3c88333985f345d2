package observe

// joinLimits reads from templates and pods what members are told of how many may be joining side by side.
func (s *snapshot) joinLimits(f *Facts, made Rendered) {
	if made.JoinLimit == nil {
		return
	}
	for i := range f.Members {
		m := &f.Members[i]
		if w := s.workload(m.Name); w != nil && m.Workload.Exists {
			m.Workload.JoinLimit = made.JoinLimit(m.Workload.Version, w.Spec.Template.Spec)
		}
		for j := range s.pods.Items {
			if p := &s.pods.Items[j]; m.Pod.Exists && string(p.UID) == m.Pod.UID {
				m.Pod.JoinLimit = made.JoinLimit(m.Pod.Version, p.Spec)
			}
		}
	}
}

// JoinLimit is the least that the member's template or pod tells it, 0 if one of them can't tell anything; told is
// false of a member without either.
func (m Member) JoinLimit() (limit int, told bool) {
	switch {
	case m.Workload.Exists && m.Pod.Exists:
		return min(m.Workload.JoinLimit, m.Pod.JoinLimit), true
	case m.Workload.Exists:
		return m.Workload.JoinLimit, true
	}
	return m.Pod.JoinLimit, m.Pod.Exists
}
