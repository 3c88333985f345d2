package access_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestCertificates(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for name, args := range map[string][]string{
		"certificates_show":      {"certificates", "show"},
		"certificates_show_wide": {"certificates", "show", "my-db", "-o", "wide"},
		"certificates_show_json": {"certificates", "show", "my-db", "-o", "json"},
		"plan_certificates":      {"plan", "certificates", "rotate", "my-db", "--ca"},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			b.Golden(name, b.Run(args...))
		})
	}
	b.T = t
	if len(b.Writes) > 0 {
		t.Fatalf("wrote %v", b.Writes)
	}
	b.Cluster.Facts.Leaves[0].NotAfter = clitest.Noon.Add(-time.Hour)
	if r := b.Run("certificates", "show"); r.Code != exit.Degraded ||
		!strings.Contains(r.Out, "FAIL    my-db-admin-tls") {
		t.Errorf("one that ran out: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

func TestCertificatesRotate(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := b.Run("certificates", "rotate", "my-db", "--progress", "none"); r.Code != exit.Done ||
		r.Out != "fakedb/my-db rotated\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if n := strings.Count(strings.Join(b.Writes, " "), "renew-certificate"); n != 5 {
		t.Errorf("%d certificates issued: %v", n, b.Writes)
	}
	r := b.Run("certificates", "rotate", "my-db", "--ca", "--progress", "none")
	if r.Code != exit.Done || !strings.Contains(r.Err, "read secret my-db-client-tls again") ||
		!strings.Contains(r.Err, "--ca=finish") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("certificates", "rotate", "my-db", "--ca"); r.Out != "fakedb/my-db unchanged\n" {
		t.Errorf("a repeat: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	b.Writes = nil
	if r := b.Run("certificates", "rotate", "my-db", "--ca=finish"); r.Code != exit.Usage || len(b.Writes) > 0 {
		t.Errorf("without a word: exit %d, wrote %v\n%s", r.Code, b.Writes, r.Err)
	}
	if r := b.Run("certificates", "rotate", "my-db", "--ca=finish", "--yes", "--progress", "none"); r.Code != exit.Done ||
		b.Cluster.Facts.Trust.Next != nil {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("certificates", "rotate", "my-db", "--ca=now"); r.Code != exit.Usage ||
		!strings.Contains(r.Err, "at-once") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
	if r := b.Run("create", "other", "--engine", "fakedb", "--no-tls", "--ca-secret", "mine"); r.Code != exit.Usage {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
}
