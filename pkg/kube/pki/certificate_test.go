package pki

import "testing"

func TestCertificateFacts(t *testing.T) {
	c, _, cluster := issued(t)
	trust, leaves := read(t, c, cluster)
	if trust.Problem != "" || trust.Next != nil || trust.Current.Subject != "CN=shop/db" {
		t.Errorf("trust %+v", trust)
	}
	for secret, use := range map[string]CertificateUse{"db-admin-tls": UseAdmin, "db-client-tls": UseClient,
		"db-1-tls": UseMember} {
		if l := leaves[secret]; l.Use != use || l.Problem != "" || l.Signer != trust.Current.Fingerprint ||
			len(l.Trusts) != 1 {
			t.Errorf("%+v", l)
		}
	}
	if l := leaves["db-1-tls"]; l.Member != "db-1" || len(l.Names) != len(MemberHosts(cluster, "db-1")) {
		t.Errorf("%+v", l)
	}
}
