package cluster

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestIssuerFlag(t *testing.T) {
	for text, want := range map[string]v1alpha1.Issuer{
		"corporate":                  {Name: "corporate", Kind: "Issuer", Group: "cert-manager.io"},
		"ClusterIssuer/corporate":    {Name: "corporate", Kind: "ClusterIssuer", Group: "cert-manager.io"},
		"StepIssuer.smallstep.com/x": {Name: "x", Kind: "StepIssuer", Group: "smallstep.com"},
	} {
		flags := Flags{issuer: text}
		if got, err := flags.tls(); err != nil || got.Issuer == nil || *got.Issuer != want {
			t.Errorf("%s is %+v, %v", text, got.Issuer, err)
		}
	}
	for name, flags := range map[string]Flags{
		"no name": {issuer: "Issuer/"}, "no kind": {issuer: "/corporate"}, "too much": {issuer: "Issuer/a/b"},
		"in plain text": {issuer: "corporate", noTLS: true}, "two sources": {issuer: "corporate", caSecret: "mine"},
	} {
		if _, err := flags.tls(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
