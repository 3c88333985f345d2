package planner

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// renewed is the state once a certificate was issued again, and is served.
func renewed(s *ops.State, step ops.Step) {
	signer := s.Kube.Trust.Current
	if step.NextCA {
		signer = *s.Kube.Trust.Next
	}
	l, exists := s.Kube.Leaf(step.Secret)
	l.Member, l.Fingerprint, l.Signer, l.Problem, l.NotAfter = step.Member(), "predicted", signer.Fingerprint, "",
		time.Time{}
	if l.Member != "" {
		l.Use = pki.UseMember
	}
	if !exists {
		l.Trusts = s.Kube.Trust.Bundle()
		s.Kube.Leaves = append(s.Kube.Leaves, l)
	}
	for i := range s.Kube.Leaves {
		if s.Kube.Leaves[i].Secret == l.Secret {
			s.Kube.Leaves[i] = l
		}
	}
	for i := range s.View.Members {
		if m := &s.View.Members[i]; m.Name == l.Member && m.Certificate != nil {
			m.Certificate = &engine.Presented{Fingerprint: l.Fingerprint, NotAfter: l.NotAfter,
				Accepts: m.Certificate.Accepts}
		}
	}
}

// authorities is the state after a change of who signs or is trusted.
func authorities(s *ops.State, action ops.Action) {
	t := *s.Kube.Trust
	switch action {
	case ops.ActionAddCA:
		t.Next = &pki.Authority{Fingerprint: "predicted-authority", Subject: "the new authority"}
		if t.Given != nil {
			t.Next = t.Given
		}
	case ops.ActionPromoteCA:
		t.Current, t.Next, t.Problem = *t.Next, nil, ""
	case ops.ActionDropCA:
		t.Next = nil
	default:
		for i := range s.Kube.Leaves {
			s.Kube.Leaves[i].Trusts = t.Bundle()
		}
	}
	s.Kube.Trust = &t
}
