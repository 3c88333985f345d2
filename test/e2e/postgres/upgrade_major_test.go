//go:build e2e

package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestUpgradeMajor brings a cluster of version 15 to 17 while a client writes. What 17 can't take is named before a
// member stops. Twice it is stepped back from after the members stopped; then it is killed between its steps until it
// is done. No row that was acknowledged is lost.
func TestUpgradeMajor(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	s := newVictim(t)
	s.claim("backups")
	before, after := s.releases(15)[0], s.releases(17)[0]
	s.create(before, "3")
	s.sql(rows)
	want := s.sql(contents)
	w := s.write(before)
	upgrade := []string{"upgrade", "db", "--version", after.Version, "--image", after.Image, "--repository",
		"pvc:backups", "--allow-downtime"}

	s.sql("CREATE TABLE odd (a aclitem)")
	s.refused(exit.NeedsHuman, "public.odd.a", upgrade...)
	w.goesOn("clients write, and no member has stopped")
	s.must("cancel", "db")
	s.sql("DROP TABLE odd")
	s.healthy(3)
	s.refused(exit.Refused, "--allow-downtime", upgrade[:len(upgrade)-1]...)

	for _, point := range []string{"after:recover-data", "within:load-backup"} {
		if r := s.Run([]string{point}, upgrade...); torture.DiedAt(r) != point {
			t.Fatalf("it did not die at %s:\n%s", point, r)
		}
		if r := s.Run([]string{"after:start-members", "after:return-to-incarnation"}, "cancel", "db"); !r.Killed() {
			t.Fatalf("killed at %s, the way back has no step:\n%s", point, r)
		}
		s.must("cancel", "db")
		s.healthy(3)
		w.goesOn("clients write, after a cancel at " + point)
		s.runs(before.Version)
	}

	began := time.Now()
	for _, action := range []string{"backup", "verify-backup", "stop-members", "examine-volume", "recover-data",
		"begin-incarnation", "load-backup", "start-members", "record-bootstrap", "register-member"} {
		points := []string{"before:", "after:"}
		if action == "stop-members" {
			points[1] = "within:" // that they are gone is seen, not answered
		}
		for _, when := range points {
			if r := s.Run([]string{when + action}, upgrade...); torture.DiedAt(r) != when+action {
				t.Fatalf("it did not die at %s:\n%s", when+action, r)
			}
		}
	}
	s.must(upgrade...)
	s.healthy(3)
	s.runs(after.Version)
	if got := s.sql(contents); got != want {
		t.Errorf("the database holds %s, want %s", got, want)
	}
	t.Logf("no row was acknowledged for %s", w.gap(began))
	w.goesOn("clients write to the new version")
	w.check()
	s.must("backup", "db", "--repository", "pvc:backups", "--verify")
}

// runs asks the primary for its version.
func (s *scene) runs(version string) {
	s.Helper()
	if got := s.sql("SHOW server_version"); !strings.HasPrefix(got, version) {
		s.Errorf("the primary runs %s, want %s", got, version)
	}
}

// major is a cluster that an operator may stop to convert its data.
const major = `
apiVersion: dbop.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: db}
spec:
  engine: postgres
  version: %q
  image: %s
  members: 2
  storage: {size: 1Gi}
  backup: {repository: "pvc:backups"}
  waive: [downtime]
`

// TestOperatorMajor has an operator bring a pair from 17 to 18 by an edit. The operator is killed while members are
// stopped.
func TestOperatorMajor(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	s := newVictim(t)
	s.claim("backups")
	before, after := s.releases(17)[0], s.releases(18)[0]
	s.must("operator", "install", "--operator-namespace", s.ns, "--watch", s.ns)
	manifest := filepath.Join(t.TempDir(), "db.yaml")
	s.ok(os.WriteFile(manifest, fmt.Appendf(nil, major, before.Version, before.Image), 0o600))
	s.kubectl("apply", "-f", manifest)
	s.ready()
	s.sql(rows)
	want := s.sql(contents)
	w := s.write(before)
	s.edit(fmt.Sprintf(`{"version": %q, "image": %q}`, after.Version, after.Image))
	s.ok(harness.Until(s.ctx, 5*time.Minute, "all members to stop", func(context.Context) error {
		if pods := s.shared.Members(); len(pods) > 0 {
			return fmt.Errorf("%d are there", len(pods))
		}
		return nil
	}))
	s.kubectl("delete", "pods", "-l", "app.kubernetes.io/component=operator", "--grace-period=0", "--force")
	s.ok(harness.Until(s.ctx, 8*time.Minute, "the new version", func(context.Context) error {
		record := s.kubectl("get", "dbc", "db", "-o", "jsonpath={.status}")
		if r := s.try("connect", "db", "--", "-At", "-c", "SHOW server_version"); !strings.HasPrefix(r.Stdout,
			after.Version) {
			return fmt.Errorf("%s\n%s", r, record)
		}
		return nil
	}))
	s.ready()
	s.healthy(2)
	if got := s.sql(contents); got != want {
		t.Errorf("the database holds %s, want %s", got, want)
	}
	w.goesOn("clients write to the new version")
	w.check()
}
