//go:build e2e

package objectstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestSchedule has a CronJob take backups into a store, and keep the newest.
func TestSchedule(t *testing.T) {
	s := newScene(t, "sched")
	s.succeeded(s.add("sched", "--new-key-file", s.file("key.txt")), "repository add")
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage", "512Mi")
	s.must("backup", "schedule", "my-db", "0 2 * * *", "--keep", "1", "--repository", "offsite")
	for n := range 2 {
		job := fmt.Sprintf("run-%d", n)
		r, err := s.site.Kubectl(s.home).Run(s.ctx, "create", "job", "--from=cronjob/my-db-backup", job, "-n", s.ns)
		s.ok(err)
		s.succeeded(r, "kubectl create job")
		s.ok(harness.Until(s.ctx, 90*time.Second, "the job "+job, func(ctx context.Context) error {
			r, err := s.site.Kubectl(s.home).Run(ctx, "get", "job", job, "-n", s.ns, "-o", "jsonpath={.status.succeeded}")
			if err == nil && r.Stdout != "1" {
				err = errors.New("it has not succeeded yet")
			}
			return err
		}))
	}
	if n := strings.Count(s.must("backup", "list", "--repository", "offsite", "-o", "name").Stdout, "backup/"); n != 1 {
		t.Errorf("%d backups are left, and one is to be kept", n)
	}
	s.must("backup", "my-db", "--repository", "offsite", "--scheduled")
	prune := []string{"backup", "prune", "my-db", "--repository", "offsite", "--keep-last", "1"}
	s.says(s.must(append(prune, "--dry-run")...), "no rule keeps it", "1 of 2 backups would be deleted")
	s.says(s.must(append(prune, "--yes")...), "1 backups deleted")
	s.says(s.must("backup", "schedule", "my-db"), "offsite", "the newest 1")
	s.says(s.must("status", "my-db"), "my-db")
}
