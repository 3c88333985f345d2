package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// LookAtCertificates gives the world certificates, once.
func (w *world) LookAtCertificates() {
	if w.facts.Trust != nil || len(w.facts.Members) == 0 {
		return
	}
	year := noon.Add(365 * 24 * time.Hour)
	ca := kube.Authority{Fingerprint: "0123456789abcdef0123456789abcdef", Subject: "CN=shop/my-db", NotAfter: year}
	w.facts.Trust = &kube.Trust{Current: ca}
	leaf := func(secret, subject string, use kube.CertificateUse, member string, left time.Duration) {
		w.facts.Leaves = append(w.facts.Leaves, kube.Certificate{Secret: secret, Use: use, Member: member, Subject: subject, Issuer: ca.Subject,
			Fingerprint: secret + "-fedcba9876543210", NotAfter: noon.Add(left), Signer: ca.Fingerprint, Trusts: w.facts.Trust.Bundle()})
	}
	leaf("my-db-admin-tls", "CN=root", kube.UseAdmin, "", 300*24*time.Hour)
	leaf("my-db-client-tls", "CN=client", kube.UseClient, "", 29*24*time.Hour)
	for _, m := range w.facts.Members {
		leaf(m.Name+"-tls", "CN="+m.Name, kube.UseMember, m.Name, 300*24*time.Hour)
	}
}

func TestCertificates(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	for name, args := range map[string][]string{
		"certificates_show":      {"certificates", "show"},
		"certificates_show_wide": {"certificates", "show", "my-db", "-o", "wide"},
		"certificates_show_json": {"certificates", "show", "my-db", "-o", "json"},
		"plan_certificates":      {"plan", "certificates", "rotate", "my-db", "--ca"},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.golden(name, b.run(args...))
		})
	}
	b.t = t
	if len(b.writes) > 0 {
		t.Fatalf("wrote %v", b.writes)
	}
	b.world.facts.Leaves[0].NotAfter = noon.Add(-time.Hour)
	if r := b.run("certificates", "show"); r.code != ExitDegraded || !strings.Contains(r.out, "FAIL    my-db-admin-tls") {
		t.Errorf("one that ran out: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestCertificatesRotate(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	if r := b.run("certificates", "rotate", "my-db", "--progress", "none"); r.code != ExitDone || r.out != "fakedb/my-db rotated\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if n := strings.Count(strings.Join(b.writes, " "), "renew-certificate"); n != 5 {
		t.Errorf("%d certificates issued: %v", n, b.writes)
	}
	r := b.run("certificates", "rotate", "my-db", "--ca", "--progress", "none")
	if r.code != ExitDone || !strings.Contains(r.err, "read secret my-db-client-tls again") || !strings.Contains(r.err, "--ca=finish") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run("certificates", "rotate", "my-db", "--ca"); r.out != "fakedb/my-db unchanged\n" {
		t.Errorf("a repeat: exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.writes = nil
	if r := b.run("certificates", "rotate", "my-db", "--ca=finish"); r.code != ExitUsage || len(b.writes) > 0 {
		t.Errorf("without a word: exit %d, wrote %v\n%s", r.code, b.writes, r.err)
	}
	if r := b.run("certificates", "rotate", "my-db", "--ca=finish", "--yes", "--progress", "none"); r.code != ExitDone || b.world.facts.Trust.Next != nil {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run("certificates", "rotate", "my-db", "--ca=now"); r.code != ExitUsage || !strings.Contains(r.err, "at-once") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if r := b.run("create", "other", "--engine", "fakedb", "--no-tls", "--ca-secret", "mine"); r.code != ExitUsage {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

func TestIssuerFlag(t *testing.T) {
	for text, want := range map[string]v1alpha1.Issuer{
		"corporate":                  {Name: "corporate", Kind: "Issuer", Group: "cert-manager.io"},
		"ClusterIssuer/corporate":    {Name: "corporate", Kind: "ClusterIssuer", Group: "cert-manager.io"},
		"StepIssuer.smallstep.com/x": {Name: "x", Kind: "StepIssuer", Group: "smallstep.com"},
	} {
		flags := clusterFlags{issuer: text}
		if got, err := flags.tls(); err != nil || got.Issuer == nil || *got.Issuer != want {
			t.Errorf("%s is %+v, %v", text, got.Issuer, err)
		}
	}
	for name, flags := range map[string]clusterFlags{
		"no name": {issuer: "Issuer/"}, "no kind": {issuer: "/corporate"}, "too much": {issuer: "Issuer/a/b"},
		"in plain text": {issuer: "corporate", noTLS: true}, "two sources": {issuer: "corporate", caSecret: "mine"},
	} {
		if _, err := flags.tls(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
