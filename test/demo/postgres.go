package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// relational is the name of the cluster of PostgreSQL.
const relational = "my-sql"

// postgres takes a cluster of PostgreSQL through its days, while a client in the cluster writes to it by the service of
// clients, with a new connection for each row.
func postgres(ctx context.Context, s *stage) error {
	releases, err := harness.PostgresReleases(15)
	if err != nil {
		s.say("No image of PostgreSQL is at hand: its part is left out. (%v)", err)
		return nil
	}
	old, latest := releases[len(releases)-1], releases[0]
	if err := s.do(ctx, "create 3 members, PostgreSQL", "create", relational, "--engine", "postgres", "--version",
		old.Version, "--image", old.Image, "--storage", "1Gi", "--repository", s.repository); err != nil {
		return err
	}
	orders := "CREATE TABLE orders AS SELECT generate_series(1, 1000) AS n; "
	if _, err := s.sql(ctx, orders+harness.PostgresTable); err != nil {
		return err
	}
	w, err := s.site.StartPodWriter(ctx, harness.PostgresWriter(s.namespace, relational, old.Image))
	if err != nil {
		return err
	}
	s.gap = func(from, _ time.Time) (time.Duration, error) {
		if err := w.GoesOn(ctx, "a gap to end"); err != nil {
			return 0, err
		}
		return w.LongestGap(ctx, from, time.Now())
	}
	s.say("A client inserts rows from here on, over a new connection each.")
	if err := s.killPrimary(ctx, w); err != nil {
		return err
	}
	for _, step := range []struct {
		title string
		args  []string
	}{
		{"switch over", []string{"switchover", relational}},
		{"shrink to a pair, with a witness", []string{"scale", relational, "--members", "2", "--yes"}},
		{"grow to 3", []string{"scale", relational, "--members", "3"}},
		{"set work_mem without a restart", []string{"configure", relational, "--set", "work_mem=8MB"}},
		{"upgrade to " + latest.Version, []string{"upgrade", relational, "--version", latest.Version, "--image",
			latest.Image,
			"--skip-backup"}},
		{"back up and verify", []string{"backup", relational, "--verify"}},
		{"status", []string{"status", relational}},
	} {
		if err := s.do(ctx, step.title, step.args...); err != nil {
			return err
		}
	}
	if err := s.watch("read every acknowledged row", func() error { return s.rows(ctx, w) }); err != nil {
		return err
	}
	if err := s.mistake(ctx); err != nil {
		return err
	}
	err = s.do(ctx, "delete it", "delete", relational, "--purge", "--skip-backup", "--yes")
	if err != nil {
		return err
	}
	s.say("The volumes from before the restore are kept until somebody deletes them.")
	args := []string{"delete", "pvc", "--all", "-n", s.namespace}
	fmt.Printf("\n$ kubectl %s\n", strings.Join(args, " "))
	if r, err := s.kubectl.Run(ctx, args...); err != nil || r.Code != 0 {
		return fmt.Errorf("delete the volumes from before the restore: %w", errors.Join(err, errors.New(r.Stderr)))
	}
	return nil
}

// mistake drops a table, and has it back.
func (s *stage) mistake(ctx context.Context) error {
	backups, err := s.backupsOf(ctx, relational)
	if err != nil {
		return err
	}
	s.say("Somebody drops a table by mistake.")
	if _, err := s.sql(ctx, "DROP TABLE orders"); err != nil {
		return err
	}
	err = s.do(ctx, "restore the backup in place", "restore", relational, "--in-place", "--from", backups[0],
		"--skip-backup", "--yes")
	if err != nil {
		return err
	}
	return s.watch("read the table again", func() error {
		n, err := s.sql(ctx, "SELECT count(*) FROM orders")
		if err == nil && n != "1000" {
			err = fmt.Errorf("%s of 1000 rows are there", n)
		}
		return err
	})
}

// killPrimary takes the primary's pod away without a warning.
func (s *stage) killPrimary(ctx context.Context, w *harness.PodWriter) error {
	primary, err := s.sql(ctx, "SELECT current_setting('cluster_name')")
	if err != nil {
		return err
	}
	s.say("The pod of the primary, %s, is killed.", primary)
	sc := s.open("kill the primary")
	sc.operation = true
	args := []string{"delete", "pod", primary + "-0", "--grace-period", "0", "--force", "-n", s.namespace}
	fmt.Printf("\n$ kubectl %s\n", strings.Join(args, " "))
	if _, err = s.kubectl.Run(ctx, args...); err == nil {
		err = w.GoesOn(ctx, "another member to take over")
	}
	s.close(sc, err != nil)
	if err != nil {
		return err
	}
	return harness.Until(ctx, time.Minute, "the killed member to be back", func(ctx context.Context) error {
		r, err := s.site.CLI(s.home, nil).Run(ctx, "status", relational, "-n", s.namespace)
		if err == nil && r.Code != 0 {
			err = fmt.Errorf("exit code %d", r.Code)
		}
		return err
	})
}

// sql asks the primary, as its superuser.
func (s *stage) sql(ctx context.Context, statement string) (string, error) {
	r, err := s.site.CLI(s.home, nil).Run(ctx, "connect", relational, "-n", s.namespace, "--", "-At", "-d", "app", "-c",
		statement)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("%s: %s", statement, r.Stderr)
	}
	return strings.TrimSpace(r.Stdout), err
}

// rows proves that no row that the client was told of is missing.
func (s *stage) rows(ctx context.Context, w *harness.PodWriter) error {
	acks, err := w.Stop(ctx)
	s.gap = nil
	if err != nil {
		return err
	}
	held, err := s.sql(ctx, "SELECT n FROM written")
	if err != nil {
		return err
	}
	if lost := harness.Missing(acks, strings.Fields(held)); len(lost) > 0 {
		return fmt.Errorf("%d acknowledged rows are lost, such as %d", len(lost), lost[0])
	}
	fmt.Printf("%d of %d acknowledged rows are there\n", len(acks), len(acks))
	return nil
}
