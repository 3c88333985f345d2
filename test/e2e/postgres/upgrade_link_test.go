//go:build e2e

package postgres

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
)

// TestUpgradeLink brings a cluster of version 15 to 17 on the volume of its primary while a client writes. It is
// stepped back from before the members stop, and twice after that, once while the volume is converted; then it is
// killed between its steps until it is done. No row that was acknowledged is lost.
func TestUpgradeLink(t *testing.T) {
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
		"pvc:backups", "--allow-downtime", "--link"}

	s.sql("CREATE TABLE odd (a aclitem)")
	s.refused(exit.NeedsHuman, "public.odd.a", upgrade...)
	w.goesOn("clients write, and no member has stopped")
	s.must("cancel", "db")
	s.sql("DROP TABLE odd")
	s.healthy(3)

	if r := s.Run([]string{"within:start-converter"}, upgrade...); torture.DiedAt(r) != "within:start-converter" {
		t.Fatalf("it did not die within start-converter:\n%s", r)
	}
	s.must("cancel", "db")
	left, err := s.site.Client.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: "dbop.dev/purpose=load"})
	s.ok(err)
	for _, p := range left.Items {
		if p.DeletionTimestamp == nil {
			t.Errorf("pod %s waits for nothing", p.Name)
		}
	}

	for _, point := range []string{"after:begin-incarnation", "within:convert-data"} {
		if r := s.Run([]string{point}, upgrade...); torture.DiedAt(r) != point {
			t.Fatalf("it did not die at %s:\n%s", point, r)
		}
		for _, back := range []string{"after:revert-data", "before:return-to-incarnation", "after:return-to-incarnation"} {
			if r := s.Run([]string{back}, "cancel", "db"); torture.DiedAt(r) != back {
				t.Fatalf("killed at %s, the way back did not die at %s:\n%s", point, back, r)
			}
		}
		s.must("cancel", "db")
		s.healthy(3)
		w.goesOn("clients write, after a cancel at " + point)
		s.runs(before.Version)
		if got := s.sql(contents); got != want {
			t.Errorf("after a cancel at %s the database holds %s, want %s", point, got, want)
		}
	}

	began := time.Now()
	for _, action := range []string{"start-converter", "stop-members", "examine-volume", "begin-incarnation",
		"convert-data", "start-members"} {
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
	s.refused(exit.Refused, "no way back", "cancel", "db")
	for _, point := range []string{"before:record-bootstrap", "after:record-bootstrap", "before:register-member",
		"after:register-member"} {
		if r := s.Run([]string{point}, upgrade...); torture.DiedAt(r) != point {
			t.Fatalf("it did not die at %s:\n%s", point, r)
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
