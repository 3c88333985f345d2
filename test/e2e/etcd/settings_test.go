//go:build e2e

package etcd

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
)

// TestSettingsUnderLoad changes options, memory and volumes while clients are at work.
func TestSettingsUnderLoad(t *testing.T) {
	s := newScene(t, "settings", "my-db")
	s.create("my-db", "3.6", "3", "--memory", "256Mi")
	if steps := s.plan("configure", "my-db", "--set", "snapshot-count=5000"); len(steps) != 4 ||
		!strings.HasPrefix(steps[2], "hand-over/") {
		t.Errorf("the leader does not restart last: %v", steps)
	}
	l := s.underLoad("my-db", torture.Seed(t))
	for _, args := range [][]string{
		{"configure", "my-db", "--set", "snapshot-count=5000", "--set", "auto-compaction-retention=10m"},
		{"resize", "my-db", "--memory", "320Mi", "--cpu", "50m"},
		{"resize", "my-db", "--storage", "768Mi"},
	} {
		l.do(args...)
		if r := s.must(args...); !strings.Contains(r.Stdout, "unchanged") {
			t.Errorf("a repeat changes something:\n%s", r)
		}
	}
	l.end()
	s.healthy("my-db", 3)
	for _, v := range s.capacities("my-db") {
		if v != "768Mi" {
			t.Errorf("a volume has %s", v)
		}
	}
	for _, words := range [][]string{
		{"configure", "my-db", "--set", "snapshot-cuont=1"},
		{"configure", "my-db", "--set", "initial-cluster-state=new"},
		{"configure", "my-db", "--set", "auto-compaction-mode=revision"},
		{"resize", "my-db", "--storage", "512Mi"},
	} {
		s.refused(4, nil, words...)
	}
}

// capacities of the cluster's volumes.
func (s *scene) capacities(name string) []string {
	s.Helper()
	claims, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx,
		metav1.ListOptions{LabelSelector: "dbop.dev/cluster=" + name})
	s.ok(err)
	var out []string
	for i := range claims.Items {
		out = append(out, claims.Items[i].Status.Capacity.Storage().String())
	}
	return out
}

// TestSettingsThatNobodyLivesWith: the first member does not come up, the rest
// keep what they have, and cancel puts it back.
func TestSettingsThatNobodyLivesWith(t *testing.T) {
	s := newScene(t, "unfit", "my-db")
	s.create("my-db", "3.6", "3", "--memory", "256Mi")
	l := s.underLoad("my-db", torture.Seed(t))
	r := s.try("resize", "my-db", "--memory", "4Mi", "--timeout", "3m")
	if r.Code == 0 || !strings.Contains(r.Stderr, "hint:") {
		t.Fatalf("nobody lives with 4Mi:\n%s", r)
	}
	t.Logf("paused after %s", r.Duration.Round(time.Second))
	l.do("cancel", "my-db")
	l.end()
	s.healthy("my-db", 3)
	if r := s.must("history", "my-db", "-o", "json"); !strings.Contains(r.Stdout, "Cancelled") {
		t.Errorf("history does not say so:\n%s", r)
	}
}

// TestSettingsOfOne: a crashing process is the whole cluster, and the former
// settings must come back without anybody's word.
func TestSettingsOfOne(t *testing.T) {
	s := newScene(t, "one", "my-db")
	s.create("my-db", "3.6", "1", "--memory", "256Mi")
	s.refused(4, []string{"is down while"}, "resize", "my-db", "--memory", "4Mi")
	if r := s.try("resize", "my-db", "--memory", "4Mi", "--allow-downtime", "--timeout", "3m"); r.Code == 0 {
		t.Fatalf("nobody lives with 4Mi:\n%s", r)
	}
	s.must("cancel", "my-db")
	s.healthy("my-db", 1)
}
