//go:build e2e

package objectstore

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// testWithin bounds one test, cleaning aside.
	testWithin = 10 * time.Minute
	goneWithin = 2 * time.Minute
	bucket     = "backups"
)

// scene is what one test has to itself: a namespace, a home, an object store, and a repository there.
type scene struct {
	*testing.T
	ctx   context.Context
	site  *harness.Site
	ns    string
	home  string
	store *harness.ObjectStore
	cli   harness.Command
}

func newScene(t *testing.T, prefix string) *scene {
	t.Helper()
	return newLockedScene(t, prefix, false)
}

// newLockedScene is newScene, with object lock in the bucket where that is asked for.
func newLockedScene(t *testing.T, prefix string, lock bool) *scene {
	t.Helper()
	s := newBareScene(t, prefix)
	var err error
	s.store, err = s.site.StartObjectStore(s.ctx, s.ns)
	s.ok(err)
	s.ok(s.store.MakeBucket(s.ctx, bucket, lock))
	s.ok(os.WriteFile(s.file("ca.pem"), s.store.CA, 0o600))
	maps.Copy(s.cli.Env, s.store.Environment())
	return s
}

// newBareScene has no object store.
func newBareScene(t *testing.T, prefix string) *scene {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), testWithin)
	t.Cleanup(cancel)
	site, err := harness.NewSite()
	if err != nil {
		t.Fatal(err)
	}
	if !site.HasObjectStore() {
		t.Skip("no image of an object store: run make stores cluster-up, or set DBOP_STORE_IMAGE")
	}
	s := &scene{T: t, ctx: ctx, site: site, home: t.TempDir()}
	if s.ns, err = site.CreateNamespace(ctx, "e2e-"+prefix); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.clear)
	s.cli = site.CLI(s.home, map[string]string{"TMPDIR": s.home})
	return s
}

func (s *scene) file(name string) string { return filepath.Join(s.home, name) }

// clear removes what the test made, and tells all there is to know after a failure.
func (s *scene) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), goneWithin+time.Minute)
	defer cancel()
	if s.Failed() {
		var text strings.Builder
		s.site.Report(ctx, &text, s.ns, s.cli)
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

// add adds the repository "offsite" at a prefix of the bucket.
func (s *scene) add(prefix string, more ...string) harness.Result {
	s.Helper()
	return s.try(append([]string{"repository", "add", "offsite", "--url", "s3://" + bucket + "/" + prefix, "--endpoint",
		s.store.Endpoint, "--region", "us-east-1", "--path-style", "--ca-file", s.file("ca.pem"), "--from-env"},
		more...)...)
}

// try runs the plugin in the scene's namespace.
func (s *scene) try(args ...string) harness.Result {
	s.Helper()
	r, err := s.cli.Run(s.ctx, append(args, "-n", s.ns)...)
	s.ok(err)
	return r
}

// must runs the plugin and asks for success.
func (s *scene) must(args ...string) harness.Result {
	s.Helper()
	return s.succeeded(s.try(args...), args...)
}

func (s *scene) succeeded(r harness.Result, args ...string) harness.Result {
	s.Helper()
	if r.Code != 0 {
		s.Fatalf("expected success:\n%s", r)
	}
	s.Logf("%s: %s", strings.Join(args, " "), r.Duration.Round(100*time.Millisecond))
	return r
}

// refused asks for an exit code, for words in the error, and for a hint.
func (s *scene) refused(r harness.Result, code int, words ...string) {
	s.Helper()
	if r.Code != code || !strings.Contains(r.Stderr, "error:") {
		s.Errorf("expected exit code %d and an error:\n%s", code, r)
	}
	for _, w := range words {
		if !strings.Contains(strings.ToLower(r.Stderr), strings.ToLower(w)) {
			s.Errorf("the error does not say %q:\n%s", w, r)
		}
	}
}

// says asks for words in the output.
func (s *scene) says(r harness.Result, words ...string) {
	s.Helper()
	for _, w := range words {
		if !strings.Contains(r.Stdout+r.Stderr, w) {
			s.Errorf("it does not say %q:\n%s", w, r)
		}
	}
}

func (s *scene) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
