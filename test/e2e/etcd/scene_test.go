//go:build e2e

package etcd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// testWithin bounds one test, cleaning aside.
	testWithin = 12 * time.Minute
	// goneWithin bounds the deletion of a test's namespace.
	goneWithin = 2 * time.Minute
	storage    = "512Mi"
)

// scene is what one test has to itself: a namespace, a home and a repository.
type scene struct {
	*testing.T
	ctx      context.Context
	site     *harness.Site
	ns       string
	home     string
	backups  string
	cli      harness.Command
	clusters []string
}

// newScene sets a parallel test up, and clears up after it, also after a
// failure, of which it then tells all there is to know.
func newScene(t *testing.T, prefix string, clusters ...string) *scene {
	t.Helper()
	selected(t)
	t.Parallel()
	return newLoneScene(t, prefix, clusters...)
}

// newLoneScene is a scene for a test that disturbs what all others stand on,
// or counts seconds, and so runs before them, by itself.
func newLoneScene(t *testing.T, prefix string, clusters ...string) *scene {
	t.Helper()
	selected(t)
	ctx, cancel := context.WithTimeout(context.Background(), testWithin)
	t.Cleanup(cancel)
	site, err := harness.NewSite()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	s := &scene{T: t, ctx: ctx, site: site, home: home, backups: filepath.Join(home, "backups"), clusters: clusters}
	if err := os.Mkdir(s.backups, 0o700); err != nil {
		t.Fatal(err)
	}
	if s.ns, err = site.CreateNamespace(ctx, "e2e-"+prefix); err != nil {
		t.Fatal(err)
	}
	s.cli = site.CLI(home, map[string]string{"DBOP_REPOSITORY": "dir:" + s.backups})
	t.Cleanup(s.clear)
	return s
}

// clear removes what the test made. Its own time limit does not depend on the test's.
func (s *scene) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), goneWithin+time.Minute)
	defer cancel()
	if s.Failed() {
		var text strings.Builder
		s.site.Report(ctx, &text, s.ns, s.cli, s.clusters...)
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

// try runs the plugin in the scene's namespace.
func (s *scene) try(args ...string) harness.Result {
	s.Helper()
	return s.with(s.cli, args...)
}

// with runs the plugin as somebody else.
func (s *scene) with(cli harness.Command, args ...string) harness.Result {
	s.Helper()
	r, err := cli.Run(s.ctx, inNamespace(s.ns, args)...)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// inNamespace adds the namespace before the arguments that belong to another program.
func inNamespace(ns string, args []string) []string {
	out := make([]string, 0, len(args)+2)
	for i, a := range args {
		if a == "--" {
			out = append(out, "-n", ns)
			return append(out, args[i:]...)
		}
		out = append(out, a)
	}
	return append(out, "-n", ns)
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

// refused runs the plugin, and asks for an exit code, for words in the error,
// for a hint and for a quick answer.
func (s *scene) refused(code int, words []string, args ...string) harness.Result {
	s.Helper()
	return s.judge(s.try(args...), code, words...)
}

func (s *scene) judge(r harness.Result, code int, words ...string) harness.Result {
	s.Helper()
	if r.Code != code {
		s.Errorf("expected exit code %d:\n%s", code, r)
		return r
	}
	if !strings.Contains(r.Stderr, "error:") || !strings.Contains(r.Stderr, "hint:") {
		s.Errorf("an error and a hint are missing:\n%s", r)
	}
	for _, w := range words {
		if !strings.Contains(strings.ToLower(r.Stderr), strings.ToLower(w)) {
			s.Errorf("the error does not say %q:\n%s", w, r)
		}
	}
	return r
}

// create makes a cluster.
func (s *scene) create(name, version, members string, more ...string) {
	s.Helper()
	s.must(append([]string{"create", name, "--engine", "etcd", "--version", version, "--members", members, "--storage",
		storage}, more...)...)
}

// dial is an application's client of a cluster, closed at the end of the test.
func (s *scene) dial(name string) *harness.Etcd {
	s.Helper()
	db, err := s.site.DialEtcd(s.ctx, s.ns, name)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = db.Close() })
	return db
}

// kubectl runs kubectl in the test's namespace.
func (s *scene) kubectl(args ...string) harness.Result {
	s.Helper()
	r, err := s.site.Kubectl(s.home).Run(s.ctx, inNamespace(s.ns, args)...)
	s.ok(err)
	return r
}

// mustKubectl ends the test if kubectl fails.
func (s *scene) mustKubectl(args ...string) {
	s.Helper()
	if r := s.kubectl(args...); r.Code != 0 {
		s.Fatal(r)
	}
}

// ok ends the test on an error.
func (s *scene) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// plan returns the identifiers of the steps that a command would take.
func (s *scene) plan(args ...string) []string {
	s.Helper()
	return torture.Plan(s, args...)
}
