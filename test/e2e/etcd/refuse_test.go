//go:build e2e

package etcd

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// refusedWithin is how long a person waits for a no.
const refusedWithin = 5 * time.Second

// quick asks for a quick answer.
func (s *scene) quick(r harness.Result) {
	s.Helper()
	if r.Duration > refusedWithin {
		s.Errorf("the answer took %s:\n%s", r.Duration, r)
	}
}

// TestBadWords gives the tool what can't be, before there is any cluster.
func TestBadWords(t *testing.T) {
	s := newScene(t, "words", "my-db")
	for _, c := range []struct {
		name  string
		code  int
		words []string
		args  []string
	}{
		{"unknown engine", 2, []string{"oracle", "etcd"}, []string{"create", "my-db", "--engine", "oracle"}},
		{"no engine", 2, []string{"--engine"}, []string{"create", "my-db"}},
		{"unknown version", 2, []string{"9.9", "3.6"}, []string{"create", "my-db", "--engine", "etcd", "--version", "9.9"}},
		{"invalid name", 2, []string{"My_DB"}, []string{"create", "My_DB", "--engine", "etcd"}},
		{"too long name", 2, []string{"too long"}, []string{"create", strings.Repeat("a", 41), "--engine", "etcd"}},
		{"even size", 4, []string{"--force"}, []string{"create", "my-db", "--engine", "etcd", "--members", "4"}},
		{"size over 7", 4, []string{"7"}, []string{"create", "my-db", "--engine", "etcd", "--members", "9"}},
		{"no cluster of that name", 6, []string{"my-db", "not found"}, []string{"scale", "my-db", "--members", "3"}},
		{"status of nothing", 6, []string{"my-db", "not found"}, []string{"status", "my-db"}},
		{"deletion of nothing", 6, []string{"my-db", "not found"}, []string{"delete", "my-db", "--yes"}},
		{"no such backup", 6, []string{"no such backup"}, []string{"restore", "my-db", "--from",
			"my-db-20260101T000000Z-0000"}},
		{"unknown flag", 2, []string{"--no-such-flag"}, []string{"list", "--no-such-flag"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := *s
			in.T = t
			in.quick(in.refused(c.code, c.words, c.args...))
		})
	}
	left, err := s.site.Client.CoreV1().ConfigMaps(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: "dbop.dev/kind"})
	s.ok(err)
	if len(left.Items) > 0 {
		t.Errorf("refusals left %d records behind, such as %s", len(left.Items), left.Items[0].Name)
	}
}

// TestBadDeeds asks a living cluster for what must not be done.
func TestBadDeeds(t *testing.T) {
	s := newScene(t, "deeds", "my-db", "old")
	s.create("my-db", "3.5", "3")
	backup := s.someBackup()
	for _, c := range []struct {
		name  string
		code  int
		words []string
		args  []string
	}{
		{"skipped minor", 4, []string{"3.6"}, []string{"upgrade", "my-db", "--version", "3.7"}},
		{"create onto a name that is taken", 4, []string{"exists already"},
			[]string{"create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "5"}},
		{"restore onto a name that is taken", 4, []string{"exists already"},
			[]string{"restore", "my-db", "--from", backup}},
		{"even size", 4, []string{"--force"}, []string{"scale", "my-db", "--members", "4"}},
		{"size over 7", 4, []string{"7"}, []string{"scale", "my-db", "--members", "9"}},
		{"no member of that name", 2, []string{"my-db-9"}, []string{"member", "remove", "my-db", "my-db-9", "--yes"}},
		{"no confirmation", 2, []string{"--yes"}, []string{"delete", "my-db", "--purge"}},
		{"nothing to resume", 0, nil, []string{"resume", "my-db"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := *s
			in.T = t
			if c.code == 0 {
				in.must(c.args...)
				return
			}
			in.quick(in.refused(c.code, c.words, c.args...))
		})
	}
	s.memberDown()
	s.lastMember()
	s.belowFloor()
}

// memberDown takes one member away and asks for what needs all of them.
func (s *scene) memberDown() {
	s.Helper()
	follower := "my-db-1"
	if s.leader("my-db") == follower {
		follower = "my-db-2"
	}
	s.stop(follower)
	s.refused(4, []string{follower}, "add-member", "my-db")
	s.refused(4, []string{follower}, "upgrade", "my-db", "--version", "3.6")
	for _, m := range []string{"my-db-1", "my-db-2", "my-db-3"} {
		if m != follower {
			s.refused(4, []string{"healthy voters"}, "member", "remove", "my-db", m, "--yes")
			break
		}
	}
	if r := s.try("status", "my-db"); r.Code != 10 || !strings.Contains(r.Stdout, "DEGRADED") {
		s.Errorf("expected a degraded cluster:\n%s", r)
	}
	s.start(follower)
	s.becomes("my-db", 3)
}

// lastMember shrinks to one and asks for less.
func (s *scene) lastMember() {
	s.Helper()
	s.must("scale", "my-db", "--members", "1", "--yes")
	s.refused(4, []string{"last member"}, "member", "remove", "my-db", s.leader("my-db"), "--yes")
	s.refused(4, []string{"--allow-downtime"}, "upgrade", "my-db", "--version", "3.6")
}

// belowFloor runs a patch that is too old for the next minor: what the image
// says does not matter, what the members say does. No image of such a patch is
// at hand, so the plan for one that was never started must refuse by itself.
func (s *scene) belowFloor() {
	s.Helper()
	s.refused(2, []string{"3.5.1"}, "create", "old", "--engine", "etcd", "--version", "3.5.1")
}

// TestTwoAtOnce starts a second operation while one runs: the holder is named.
func TestTwoAtOnce(t *testing.T) {
	s := newScene(t, "two", "my-db")
	s.create("my-db", "3.6", "1")
	first, err := s.cli.Start(s.ctx, "scale", "my-db", "--members", "3", "-n", s.ns)
	s.ok(err)
	s.ok(s.waitForLease())
	other := s.try("add-member", "my-db")
	s.judge(other, 5, "held by")
	same := s.try("scale", "my-db", "--members", "3")
	if same.Code != 5 && same.Code != 0 {
		t.Errorf("the same command beside itself neither waits nor refuses:\n%s", same)
	}
	r, err := first.Wait()
	s.ok(err)
	if r.Code != 0 {
		t.Errorf("the first operation was disturbed:\n%s", r)
	}
	s.healthy("my-db", 3)
}

// TestNowhere asks without a cluster to ask.
func TestNowhere(t *testing.T) {
	s := newScene(t, "nowhere")
	config := filepath.Join(s.home, "unreachable")
	s.ok(s.site.Unreachable(config))
	lost := s.site.CLI(s.home, map[string]string{"KUBECONFIG": config})
	none := s.site.CLI(s.home, map[string]string{"KUBECONFIG": filepath.Join(s.home, "none")})
	for _, args := range [][]string{{"list"}, {"status", "my-db"}, {"create", "my-db", "--engine", "etcd"}} {
		r := s.with(lost, args...)
		s.judge(r, 8, "127.0.0.1:1")
		if r.Duration > 15*time.Second {
			t.Errorf("the answer took %s:\n%s", r.Duration, r)
		}
		s.quick(s.judge(s.with(none, args...), 8, "kubeconfig"))
	}
	for _, args := range [][]string{{"version", "--client"}, {"help"}, {"completion", "bash"}} {
		r, err := none.Run(s.ctx, args...)
		s.ok(err)
		if r.Code != 0 {
			t.Errorf("%v needs a cluster:\n%s", args, r)
		}
	}
}
