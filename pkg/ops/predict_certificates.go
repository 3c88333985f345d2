package ops

import (
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// renewed is the state once a certificate was issued anew, and is served.
func (s *State) renewed(step Step) {
	signer := s.Kube.Trust.Current
	if step.NextCA {
		signer = *s.Kube.Trust.Next
	}
	l, exists := s.Kube.Leaf(step.Secret)
	l.Member, l.Fingerprint, l.Signer, l.Problem, l.NotAfter = step.member(), "predicted", signer.Fingerprint, "", time.Time{}
	if l.Member != "" {
		l.Use = kube.UseMember
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
			m.Certificate = &engine.Presented{Fingerprint: l.Fingerprint, NotAfter: l.NotAfter, Accepts: m.Certificate.Accepts}
		}
	}
}

// reloaded is the state once a member started anew: it accepts what its files say.
func (s *State) reloaded(member string) {
	for i := range s.View.Members {
		if m := &s.View.Members[i]; m.Name == member {
			m.Certificate = s.filed(member)
		}
	}
}

// filed is what a member will show that reads its files now; nil if they were
// not looked at.
func (s *State) filed(member string) *engine.Presented {
	for _, l := range s.Kube.Leaves {
		if l.Member != member || l.Use != kube.UseMember {
			continue
		}
		p := &engine.Presented{Fingerprint: l.Fingerprint, NotAfter: l.NotAfter}
		for _, a := range l.Trusts {
			p.Accepts = append(p.Accepts, a.Subject)
		}
		slices.Sort(p.Accepts)
		return p
	}
	return nil
}

// authorities is the state after a change of who signs or is trusted.
func (s *State) authorities(action Action) {
	t := *s.Kube.Trust
	switch action {
	case ActionAddCA:
		t.Next = &kube.Authority{Fingerprint: "predicted-authority", Subject: "the new authority"}
		if t.Given != nil {
			t.Next = t.Given
		}
	case ActionPromoteCA:
		t.Current, t.Next, t.Problem = *t.Next, nil, ""
	case ActionDropCA:
		t.Next = nil
	default:
		for i := range s.Kube.Leaves {
			s.Kube.Leaves[i].Trusts = t.Bundle()
		}
	}
	s.Kube.Trust = &t
}
