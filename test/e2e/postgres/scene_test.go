//go:build e2e

package postgres

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	shared "github.com/dbop-dev/kubectl-dbop/test/e2e/scene"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// testWithin bounds one test, cleaning aside.
	testWithin = 12 * time.Minute
	goneWithin = 2 * time.Minute
)

// scene is what one test has to itself: a namespace.
type scene struct {
	*testing.T
	ctx  context.Context
	site *harness.Site
	ns   string
	cli  harness.Command
	// shared is what tests of several engines do in the namespace.
	shared *shared.Scene
}

// newScene runs beside no other: a lease of seconds is renewed by a disk and processors that all clusters share, and
// what is measured here is one cluster.
func newScene(t *testing.T, prefix string) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testWithin)
	t.Cleanup(cancel)
	site, err := harness.NewSite()
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{T: t, ctx: ctx, site: site, cli: site.CLI(t.TempDir(), nil)}
	if s.ns, err = site.CreateNamespace(ctx, "e2e-"+prefix); err != nil {
		t.Fatal(err)
	}
	s.shared = shared.In(ctx, t, site, s.ns, s.cli)
	t.Cleanup(s.clear)
	return s
}

// lasts gives a scene another bound than testWithin.
func (s *scene) lasts(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), within)
	s.Cleanup(cancel)
	s.ctx, s.shared.Ctx = ctx, ctx
}

// clear removes what the test made, and tells all there is to know after a failure.
func (s *scene) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), goneWithin+time.Minute)
	defer cancel()
	if s.Failed() {
		var text strings.Builder
		s.site.Report(ctx, &text, s.ns, s.cli, "db")
		s.Logf("namespace %s:\n%s", s.ns, text.String())
	}
	if os.Getenv("DBOP_KEEP") == "1" {
		s.Logf("DBOP_KEEP=1: namespace %s stays", s.ns)
		return
	}
	if err := s.site.ClearNamespace(ctx, s.ns, goneWithin); err != nil {
		s.Error(err)
	}
}

// releases are those of a major version, the newest first.
func (s *scene) releases(major int) []harness.PostgresRelease {
	s.Helper()
	found, err := harness.PostgresReleases(major)
	s.ok(err)
	return found
}

// create makes the cluster db of a release.
func (s *scene) create(r harness.PostgresRelease, members string, more ...string) {
	s.Helper()
	s.must(append([]string{"create", "db", "--engine", "postgres", "--version", r.Version, "--image", r.Image, "--members",
		members, "--storage", "1Gi"}, more...)...)
}

// must runs the plugin and asks for success.
func (s *scene) must(args ...string) harness.Result {
	s.Helper()
	r := s.try(args...)
	if r.Code != 0 {
		s.Fatalf("expected success:\n%s", r)
	}
	s.Logf("%s: %s", strings.Join(args, " "), r.Duration.Round(100*time.Millisecond))
	return r
}

func (s *scene) try(args ...string) harness.Result {
	s.Helper()
	r, err := s.cli.Run(s.ctx, append([]string{"-n", s.ns}, args...)...)
	s.ok(err)
	return r
}

// refused asks for an exit code and for words in the error.
func (s *scene) refused(code int, words string, args ...string) {
	s.Helper()
	r := s.try(args...)
	if r.Code != code || !strings.Contains(r.Stderr, words) {
		s.Errorf("expected exit code %d and %q:\n%s", code, words, r)
	}
}

// sql asks the primary, as its superuser.
func (s *scene) sql(statement string) string {
	s.Helper()
	return strings.TrimSpace(s.must("connect", "db", "--", "-At", "-d", "app", "-c", statement).Stdout)
}

// primary is the member that leads, as the database says of itself.
func (s *scene) primary() string {
	s.Helper()
	return s.sql("SELECT current_setting('cluster_name')")
}

// healthy waits until the status has no complaint, with so many members that hold data.
func (s *scene) healthy(members int) {
	s.Helper()
	s.ok(harness.Until(s.ctx, 3*time.Minute, "a healthy cluster", func(context.Context) error {
		r := s.try("status", "db")
		replicas := strings.Count(r.Stdout, " replica ")
		if r.Code != 0 || strings.Count(r.Stdout, " primary ") != 1 || replicas != members-1 {
			return errors.New(r.Stdout)
		}
		return nil
	}))
}

func (s *scene) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
