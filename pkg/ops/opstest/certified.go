package opstest

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// OldCA is the authority of Certified.
func OldCA() pki.Authority {
	return pki.Authority{Fingerprint: "ca-old", Subject: "CN=shop/db", NotAfter: Now().Add(5 * 365 * 24 * time.Hour)}
}

// NewCA is the authority that follows OldCA.
func NewCA() pki.Authority {
	return pki.Authority{Fingerprint: "ca-new", Subject: "CN=shop/db #2", NotAfter: Now().Add(9 * 365 * 24 * time.Hour)}
}

// Certified is a healthy cluster with certificates that are in use.
func Certified(members int) ops.State {
	s := Well(members)
	s.Kube.Trust = &pki.Trust{Current: OldCA()}
	leaf := func(secret string, use pki.CertificateUse, member string) {
		s.Kube.Leaves = append(s.Kube.Leaves,
			pki.Certificate{Secret: secret, Use: use, Member: member, Fingerprint: "old-" +
				secret,
				Signer: "ca-old", Trusts: s.Kube.Trust.Bundle(), NotAfter: Now().Add(200 * 24 * time.Hour)})
	}
	for i, m := range s.View.Members {
		leaf(m.Name+"-tls", pki.UseMember, m.Name)
		s.View.Members[i].Certificate = &engine.Presented{Fingerprint: "old-" + m.Name + "-tls",
			NotAfter: Now().Add(200 * 24 * time.Hour), Accepts: []string{OldCA().Subject}}
	}
	leaf("db-admin-tls", pki.UseAdmin, "")
	leaf("db-client-tls", pki.UseClient, "")
	admin, _ := s.Kube.Leaf("db-admin-tls")
	s.Kube.Administrator = &admin
	return s
}

// Rotation is a healthy cluster of which a rotation was asked for.
func Rotation(r v1alpha1.Rotation, members int) ops.State {
	s := Certified(members)
	s.Operation = Operation(v1alpha1.VerbRotateCertificates)
	s.Operation.Spec.Rotation = r
	return s
}

// Trusting is the state between the halves.
func Trusting(s *ops.State) {
	next := NewCA()
	s.Kube.Trust = &pki.Trust{Current: OldCA(), Next: &next}
	for i := range s.Kube.Leaves {
		l := &s.Kube.Leaves[i]
		l.Trusts = s.Kube.Trust.Bundle()
		if l.Use != pki.UseMember {
			l.Signer = next.Fingerprint
		}
	}
	for i := range s.View.Members {
		s.Reloaded(s.View.Members[i].Name)
	}
}

// Expired is a rotation that is asked of a cluster whose authority ran out.
func Expired(r v1alpha1.Rotation) ops.State {
	s := Rotation(r, 3)
	over := Now().Add(-time.Hour)
	trust := *s.Kube.Trust
	trust.Current.NotAfter = over
	s.Kube.Trust = &trust
	for i := range s.Kube.Leaves {
		s.Kube.Leaves[i].NotAfter = over
	}
	for i := range s.View.Members {
		s.Kube.Members[i].Pod.UID = "old"
		s.View.Members[i].Certificate = &engine.Presented{NotAfter: over}
		s.View.Members[i].Reachable = false
	}
	NoQuorum(&s)
	return s
}
