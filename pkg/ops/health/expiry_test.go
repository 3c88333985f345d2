package health

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestExpiryIsTold(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration, change func(*ops.State, time.Time)) ops.State {
		s := opstest.Certified(3)
		change(&s, opstest.Now().Add(d))
		return s
	}
	admin := func(s *ops.State, at time.Time) { s.Kube.Administrator.NotAfter = at }
	ca := func(s *ops.State, at time.Time) {
		a := opstest.OldCA()
		a.NotAfter = at
		s.Kube.Administrator.Trusts = []pki.Authority{a}
	}
	member := func(s *ops.State, at time.Time) {
		shown := *s.View.Members[1].Certificate
		shown.NotAfter = at
		s.View.Members[1].Certificate = &shown
	}
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		state    ops.State
		severity ops.Severity
		problem  string
		next     string
	}{
		"far away": {state: opstest.Certified(3), severity: ops.OK},
		"the tool's, soon": {state: in(29*day, admin), severity: ops.Warn,
			problem: "the certificate in db-admin-tls runs out on 2030-01-31", next: "kubectl dbop certificates rotate db"},
		"a month is enough": {state: in(31*day, admin), severity: ops.OK},
		"a member's, over": {state: in(-time.Second, member), severity: ops.Fail,
			problem: "the certificate that db-2 serves ran out on 2030-01-02", next: "kubectl dbop certificates rotate db"},
		"the authority, over": {state: in(-time.Second, ca), severity: ops.Fail,
			problem: "the authority CN=shop/db ran out",
			next:    "kubectl dbop certificates rotate db --ca=at-once"},
		"the authority soon": {state: in(3*day, ca), severity: ops.Warn, problem: "the authority CN=shop/db runs out",
			next: "kubectl dbop certificates rotate db --ca"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found ops.Finding
			for _, f := range Diagnose(opstest.Stub{}, c.state, verbs).Findings {
				if f.Subject == "certificates" {
					found = f
				}
			}
			if found.Severity != c.severity {
				t.Errorf("finding %+v, want %s", found, c.severity)
			}
			v := Assess(opstest.Stub{}, c.state, verbs)
			if c.problem == "" {
				if len(v.Problems) > 0 || v.Level != Healthy {
					t.Errorf("verdict %+v", v)
				}
				return
			}
			if v.Level != Degraded || !strings.HasPrefix(strings.Join(v.Problems, "; "), c.problem) || v.Next[0] != c.next ||
				found.Remedy[0] != c.next {
				t.Errorf("verdict %+v, finding %+v", v, found)
			}
		})
	}
	s := opstest.Certified(3)
	s.Kube.Administrator = nil
	for _, f := range Diagnose(opstest.Stub{}, s, verbs).Findings {
		if f.Subject == "certificates" {
			t.Errorf("nothing was seen, and it says %+v", f)
		}
	}
}

func TestCertificateRows(t *testing.T) {
	t.Parallel()
	s := opstest.Certified(2)
	s.View.Members[0].Certificate.Fingerprint = "another"
	s.Kube.Leaves[1].NotAfter = opstest.Now().Add(10 * 24 * time.Hour)
	s.Kube.Leaves[3].Problem = "certificate and key do not match"
	got := map[string]string{}
	for _, r := range CertificateRows(s) {
		got[r.Secret] = string(r.Severity) + " " + r.Loaded
	}
	for secret, want := range map[string]string{"db-ca": "OK ", "db-1-tls": "OK serves another one",
		"db-2-tls": "WARN served", "db-client-tls": "FAIL "} {
		if got[secret] != want {
			t.Errorf("%s: %q, want %q", secret, got[secret], want)
		}
	}
	opstest.Trusting(&s)
	s.View.Members[0].Certificate.Accepts = []string{opstest.OldCA().Subject}
	for _, r := range CertificateRows(s) {
		if r.Use == "served by db-1" && !strings.Contains(r.Loaded, "trusts 1 authorities instead of 2") {
			t.Errorf("row %+v", r)
		}
	}
}
