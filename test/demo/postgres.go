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
	create := []string{"create", relational, "--engine", "postgres", "--version", old.Version, "--image", old.Image,
		"--storage", "1Gi", "--repository", s.repository}
	if s.storage != "" {
		create = append(create, "--config", "archive-repository="+s.repository, "--config", "archive_timeout=5s")
	}
	if err := s.do(ctx, "create 3 members, PostgreSQL", create...); err != nil {
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
	s.measure(ctx, w)
	s.say("A client inserts rows from here on, over a new connection each.")
	if err := s.killPrimary(ctx, w, relational); err != nil {
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

// mistake drops a table, and has it back: as it was at the moment before where the log is archived, or else as it was
// at the backup.
func (s *stage) mistake(ctx context.Context) error {
	backups, err := s.backupsOf(ctx, relational)
	if err != nil {
		return err
	}
	if _, err := s.sql(ctx, "INSERT INTO orders VALUES (1001)"); err != nil {
		return err
	}
	at, err := s.sql(ctx, `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`)
	if err != nil {
		return err
	}
	s.say("At %s there are 1001 orders. Then somebody drops the table by mistake.", at)
	if _, err := s.sql(ctx, "DROP TABLE orders"); err != nil {
		return err
	}
	title, want := "restore the backup in place", "1000"
	restore := []string{"restore", relational, "--in-place", "--from", backups[0], "--skip-backup", "--yes"}
	if s.storage != "" {
		title, want = "restore to the moment before, in place", "1001"
		restore = append(restore, "--to-time", at)
		if err := s.archived(ctx, restore); err != nil {
			return err
		}
	}
	if err := s.do(ctx, title, restore...); err != nil {
		return err
	}
	return s.watch("read the table again", func() error {
		n, err := s.sql(ctx, "SELECT count(*) FROM orders")
		if err == nil && n != want {
			err = fmt.Errorf("%s of %s rows are there", n, want)
		}
		return err
	})
}

// archived waits until the log reaches the moment of a restore: until then that is refused.
func (s *stage) archived(ctx context.Context, restore []string) error {
	plan := append([]string{"plan", "-n", s.namespace}, restore...)
	return harness.Until(ctx, time.Minute, "the log to be archived", func(ctx context.Context) error {
		r, err := s.site.CLI(s.home, nil).Run(ctx, plan...)
		if err == nil && r.Code != 0 {
			err = errors.New(r.Stderr)
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
	return lost(acks, strings.Fields(held))
}
