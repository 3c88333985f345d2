//go:build e2e

package objectstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestSchedule has a CronJob take backups into a store, and keep the newest.
func TestSchedule(t *testing.T) {
	s := newScene(t, "sched")
	s.succeeded(s.add("sched", "--new-key-file", s.file("key.txt")), "repository add")
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage", "512Mi")
	s.must("backup", "schedule", "my-db", "0 2 * * *", "--keep", "1", "--repository", "offsite")
	s.run("run-0")
	s.run("run-1")
	if n := strings.Count(s.must("backup", "list", "--repository", "offsite", "-o", "name").Stdout, "backup/"); n != 1 {
		t.Errorf("%d backups are left, and one is to be kept", n)
	}
	s.must("backup", "my-db", "--repository", "offsite", "--scheduled")
	prune := []string{"backup", "prune", "my-db", "--repository", "offsite", "--keep-last", "1"}
	s.says(s.must(append(prune, "--dry-run")...), "no rule keeps it", "1 of 2 backups would be deleted")
	s.says(s.must(append(prune, "--yes")...), "1 backups deleted")
	s.says(s.must("backup", "schedule", "my-db"), "offsite", "the newest 1")
	s.says(s.must("status", "my-db"), "my-db")

	// By age and by week, and the first backup of the week is restored and compared.
	s.succeeded(s.add("sched", "--identity-file", s.file("key.txt")), "repository add --identity-file")
	s.must("backup", "schedule", "my-db", "0 2 * * *", "--keep", "7d", "--keep-weekly", "4", "--verify", "weekly",
		"--repository", "offsite")
	s.run("run-2")
	s.says(s.must("backup", "describe", s.newest(), "--repository", "offsite"), "served by etcd")
	s.run("run-3")
	s.says(s.must("backup", "describe", s.newest(), "--repository", "offsite"), "never")
	if n := strings.Count(s.must("backup", "list", "--repository", "offsite", "-o", "name").Stdout, "backup/"); n != 3 {
		t.Errorf("%d backups are left, and those of a week are to be kept", n)
	}
	s.says(s.must("backup", "schedule", "my-db"), "those of 7d, one of each of 4 weeks", "weekly")
	s.overdue()
}

// TestScheduleCancelled: a run of the schedule that somebody cancels fails, and its Job does not begin it again.
func TestScheduleCancelled(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=objectstore runs it")
	}
	s := newScene(t, "uncalled")
	s.succeeded(s.add("sched", "--new-key-file", s.file("key.txt"), "--bandwidth", slowBandwidth), "repository add")
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage", "512Mi")
	db, err := s.site.DialEtcd(s.ctx, s.ns, "my-db")
	s.ok(err)
	s.ok(harness.FillKeys(s.ctx, db, "kept/", slowKeys, slowValue))
	s.ok(db.Close())
	s.must("backup", "schedule", "my-db", "0 2 * * *", "--repository", "offsite")
	s.kubectl("create", "job", "--from=cronjob/my-db-backup", "run-0")
	s.ok(harness.Until(s.ctx, 2*time.Minute, "the run to take a backup", func(context.Context) error {
		_, err := s.sourceOfBackup()
		return err
	}))
	s.must("cancel", "my-db")
	s.ok(harness.Until(s.ctx, 2*time.Minute, "the run to end", func(context.Context) error {
		if why := s.kubectl("get", "job", "run-0", "-o", "jsonpath={.status.conditions[?(@.type=='Failed')].reason}"); why !=
			"PodFailurePolicy" {
			return fmt.Errorf("it did not fail: %q", why)
		}
		return nil
	}))
	if pods := s.kubectl("get", "pods", "-l", "job-name=run-0", "-o", "name"); strings.Count(pods, "pod/") != 1 {
		t.Errorf("it was tried again: %q", pods)
	}
	if n := strings.Count(s.must("backup", "list", "--repository", "offsite", "-o", "name").Stdout, "backup/"); n != 0 {
		t.Errorf("there are %d backups", n)
	}
}

// run starts a run of the schedule now, and waits for its end.
func (s *scene) run(job string) {
	s.Helper()
	s.kubectl("create", "job", "--from=cronjob/my-db-backup", job)
	s.ok(harness.Until(s.ctx, 2*time.Minute, "the job "+job, func(ctx context.Context) error {
		r, err := s.site.Kubectl(s.home).Run(ctx, "get", "job", job, "-n", s.ns, "-o", "jsonpath={.status.succeeded}")
		if err == nil && r.Stdout != "1" {
			err = errors.New("it has not succeeded yet")
		}
		return err
	}))
}

// overdue has the CronJob suspended: the verdict gets worse, and repair puts it back.
func (s *scene) overdue() {
	s.Helper()
	s.kubectl("patch", "cronjob", "my-db-backup", "-p", `{"spec":{"suspend":true}}`)
	if r := s.try("status", "my-db"); r.Code != 10 || !strings.Contains(r.Stdout, "suspended") {
		s.Errorf("no scheduled backups are taken, and it says:\n%s", r)
	}
	s.must("repair", "my-db")
	s.must("status", "my-db")
}
