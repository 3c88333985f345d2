//go:build e2e

package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// newerDeadlies are the verbs that mend, restart and stop a cluster.
func newerDeadlies(wantMembers func(int) func(*scene)) []deadly {
	again := func(*scene) {}
	var to, option string
	var before map[string]string
	return []deadly{
		{name: "replace-member", version: "3.6", members: "3", arm: func(s *scene) []string {
			lost := s.follower("my-db")
			s.destroy(lost)
			return []string{"member", "replace", "my-db", lost, "--yes"}
		}, check: wantMembers(3), reset: again},
		{name: "switchover", version: "3.6", members: "3", arm: func(s *scene) []string {
			to = s.follower("my-db")
			return []string{"switchover", "my-db", "--to", to}
		}, check: func(s *scene) {
			s.healthy("my-db", 3)
			if leads := s.leader("my-db"); leads != to {
				s.Errorf("%s leads, not %s", leads, to)
			}
		}, reset: again},
		{name: "restart", version: "3.6", members: "3", arm: func(s *scene) []string {
			before = s.databasePods("my-db")
			return []string{"restart", "my-db"}
		}, check: func(s *scene) {
			s.healthy("my-db", 3)
			for pod, uid := range s.databasePods("my-db") {
				if before[pod] == uid {
					s.Errorf("%s was not restarted", pod)
				}
			}
		}, reset: again},
		{name: "stop", version: "3.6", members: "3", arm: fixed("stop", "my-db", "--yes"), check: func(s *scene) {
			if left := s.databasePods("my-db"); len(left) > 0 {
				s.Errorf("pods of a stopped cluster: %v", left)
			}
			s.settledVolumes("my-db", 3)
		}, reset: func(s *scene) { s.must("start", "my-db"); s.holdsBackup("my-db") }, quiet: true},
		{name: "start", version: "3.6", members: "3", arm: func(s *scene) []string {
			s.must("stop", "my-db", "--yes")
			return []string{"start", "my-db"}
		}, check: func(s *scene) { wantMembers(3)(s); s.holdsBackup("my-db") }, reset: again, quiet: true},
		{name: "undo", version: "3.6", members: "1", arm: func(s *scene) []string {
			s.must("add-member", "my-db")
			return []string{"undo", "my-db", "--yes"}
		}, check: wantMembers(1), reset: again},
		{name: "defrag", version: "3.6", members: "3", arm: func(s *scene) []string {
			s.waste("my-db")
			return []string{"defrag", "my-db", "--min-gain", "1Mi"}
		}, check: func(s *scene) {
			s.healthy("my-db", 3)
			s.says(s.must("defrag", "my-db", "--min-gain", "1Mi"), "unchanged")
		}, reset: again},
		{name: "compact", version: "3.6", members: "3", arm: fixed("compact", "my-db", "--keep-revisions", "0"),
			check: func(s *scene) {
				s.healthy("my-db", 3)
				s.compacted("my-db", 2)
			}, reset: again},
		{name: "alarms clear", version: "3.6", members: "3", options: []string{"--config", smallQuota},
			arm: func(s *scene) []string {
				s.exhaust(overwritten)
				return []string{"alarms", "clear", "my-db", "--keep-revisions", "0"}
			}, check: func(s *scene) {
				s.healthy("my-db", 3)
				s.ok(harness.FillKeys(s.ctx, s.dial("my-db"), "after/", 100, 64))
			}, reset: again, quiet: true},
		{name: "configure", version: "3.6", members: "3", arm: func(s *scene) []string {
			option = fmt.Sprintf("snapshot-count=%d", 5000+time.Now().UnixNano()%1000)
			return []string{"configure", "my-db", "--set", option}
		}, check: func(s *scene) {
			s.healthy("my-db", 3)
			s.runsWith("my-db", option)
		}, reset: again},
		{name: "resize", version: "3.6", members: "1", arm: fixed("resize", "my-db", "--cpu", "60m", "--storage", "768Mi",
			"--allow-downtime"), check: func(s *scene) {
			s.healthy("my-db", 1)
			for _, v := range s.capacities("my-db") {
				if v != "768Mi" {
					s.Errorf("a volume has %s", v)
				}
			}
		}},
	}
}

// compacted asks that no member serves so old a revision any more.
func (s *scene) compacted(name string, revision int64) {
	s.Helper()
	if _, err := s.dial(name).KV.Get(s.ctx, "kept/", clientv3.WithRev(revision)); !errors.Is(err, rpctypes.ErrCompacted) {
		s.Errorf("revision %d is served still: %v", revision, err)
	}
}

// runsWith asks that every member was started with an option.
func (s *scene) runsWith(name, option string) {
	s.Helper()
	list, err := s.site.Client.CoreV1().Pods(s.ns).List(s.ctx,
		metav1.ListOptions{LabelSelector: "dbop.dev/cluster=" + name + ",app.kubernetes.io/component=database"})
	s.ok(err)
	for _, p := range list.Items {
		if !slices.Contains(p.Spec.Containers[0].Args, "--"+option) {
			s.Errorf("%s runs with %v", p.Name, p.Spec.Containers[0].Args)
		}
	}
}

// follower is a member that does not lead.
func (s *scene) follower(name string) string {
	s.Helper()
	leader := s.leader(name)
	for _, m := range s.status(name).Members {
		if m.Name != leader {
			return m.Name
		}
	}
	s.Fatalf("%s has no follower", name)
	return ""
}

// destroy takes a member's volume and pod away for good.
func (s *scene) destroy(member string) {
	s.Helper()
	now := int64(0)
	err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).Delete(s.ctx, member, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		s.ok(err)
	}
	s.ok(s.site.Client.CoreV1().Pods(s.ns).Delete(s.ctx, member+"-0", metav1.DeleteOptions{GracePeriodSeconds: &now}))
	s.ok(harness.Until(s.ctx, podWithin, "the volume of "+member+" to go", func(ctx context.Context) error {
		_, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).Get(ctx, member, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	}))
}

// databasePods are the identities of a cluster's pods by name.
func (s *scene) databasePods(name string) map[string]string {
	s.Helper()
	list, err := s.site.Client.CoreV1().Pods(s.ns).List(s.ctx,
		metav1.ListOptions{LabelSelector: "dbop.dev/cluster=" + name + ",app.kubernetes.io/component=database"})
	s.ok(err)
	out := map[string]string{}
	for _, p := range list.Items {
		out[p.Name] = string(p.UID)
	}
	return out
}

// waste writes and deletes some mebibytes, so that every member's file has
// space to give back.
func (s *scene) waste(name string) {
	s.Helper()
	db := s.dial(name)
	s.ok(harness.FillKeys(s.ctx, db, "waste/", 4000, 1000))
	gone, err := db.KV.Delete(s.ctx, "waste/", clientv3.WithPrefix())
	s.ok(err)
	_, err = db.KV.Compact(s.ctx, gone.Header.Revision, clientv3.WithCompactPhysical())
	s.ok(err)
	s.ok(harness.Until(s.ctx, podWithin, "something to defragment", func(context.Context) error {
		r := s.try("plan", "defrag", name, "--min-gain", "1Mi")
		if strings.Count(r.Stdout, "Defragment ") < 3 {
			return fmt.Errorf("the plan says:\n%s", r)
		}
		return nil
	}))
}
