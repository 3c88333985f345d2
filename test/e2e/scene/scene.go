//go:build e2e

// Package scene is what tests of engines with agents share: a namespace with one cluster, and a client that writes.
package scene

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// testWithin bounds one test, cleaning aside.
	testWithin = 12 * time.Minute
	goneWithin = 2 * time.Minute
)

// Scene is what one test has to itself: a namespace, for the cluster db.
type Scene struct {
	*testing.T

	Ctx  context.Context
	Site *harness.Site
	NS   string

	cli harness.Command
}

// New runs beside no other: a lease of seconds is renewed by a disk and processors that all clusters share, and what is
// measured here is one cluster.
func New(t *testing.T, prefix string) *Scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testWithin)
	t.Cleanup(cancel)
	site, err := harness.NewSite()
	if err != nil {
		t.Fatal(err)
	}
	s := &Scene{T: t, Ctx: ctx, Site: site, cli: site.CLI(t.TempDir(), nil)}
	if s.NS, err = site.CreateNamespace(ctx, "e2e-"+prefix); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.clear)
	return s
}

// In is the scene of a namespace that somebody else made and removes.
func In(ctx context.Context, t *testing.T, site *harness.Site, namespace string, cli harness.Command) *Scene {
	return &Scene{T: t, Ctx: ctx, Site: site, NS: namespace, cli: cli}
}

// clear removes what the test made, and tells all there is to know after a failure.
func (s *Scene) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), goneWithin+time.Minute)
	defer cancel()
	if s.Failed() {
		var text strings.Builder
		s.Site.Report(ctx, &text, s.NS, s.cli, "db")
		s.Logf("namespace %s:\n%s", s.NS, text.String())
	}
	if os.Getenv("DBOP_KEEP") == "1" {
		s.Logf("DBOP_KEEP=1: namespace %s stays", s.NS)
		return
	}
	if err := s.Site.ClearNamespace(ctx, s.NS, goneWithin); err != nil {
		s.Error(err)
	}
}

// Must runs the plugin and asks for success.
func (s *Scene) Must(args ...string) harness.Result {
	s.Helper()
	r := s.Try(args...)
	if r.Code != 0 {
		s.Fatalf("expected success:\n%s", r)
	}
	s.Logf("%s: %s", strings.Join(args, " "), r.Duration.Round(100*time.Millisecond))
	return r
}

// Try runs the plugin.
func (s *Scene) Try(args ...string) harness.Result {
	s.Helper()
	r, err := s.cli.Run(s.Ctx, append([]string{"-n", s.NS}, args...)...)
	s.OK(err)
	return r
}

// Run runs the plugin, which dies at the first of the fail points that it reaches.
func (s *Scene) Run(points []string, args ...string) harness.Result {
	s.Helper()
	r, err := torture.Mortal(s.cli, points...).Run(s.Ctx, append([]string{"-n", s.NS}, args...)...)
	s.OK(err)
	return r
}

// Operator starts an operator of the scene's namespace as a process of this machine, which dies likewise.
func (s *Scene) Operator(points []string) *harness.Process {
	s.Helper()
	cli := torture.Mortal(s.cli, points...)
	cli.Env["DBOP_REPOSITORY"] = "" // a pod has no directory of this machine
	p, err := cli.Start(s.Ctx, "-n", s.NS, "operator", "run", "--watch", s.NS, "--lease-namespace", s.NS,
		"--metrics-address", "0", "--health-address", "0")
	s.OK(err)
	return p
}

// Start starts the plugin.
func (s *Scene) Start(args ...string) *harness.Process {
	s.Helper()
	p, err := s.cli.Start(s.Ctx, append([]string{"-n", s.NS}, args...)...)
	s.OK(err)
	return p
}

// Refused asks for an exit code and for words in the error.
func (s *Scene) Refused(code int, words string, args ...string) {
	s.Helper()
	r := s.Try(args...)
	if r.Code != code || !strings.Contains(r.Stderr, words) {
		s.Errorf("expected exit code %d and %q:\n%s", code, words, r)
	}
}

// Member is one that has a role, as status tells.
func (s *Scene) Member(role string) string {
	s.Helper()
	for line := range strings.Lines(s.Try("status", "db").Stdout) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == role {
			return f[0]
		}
	}
	s.Fatalf("there is no %s", role)
	return ""
}

// Healthy waits until the status has no complaint, with so many members that hold data.
func (s *Scene) Healthy(members int) {
	s.Helper()
	s.OK(harness.Until(s.Ctx, 3*time.Minute, "a healthy cluster", func(context.Context) error {
		r := s.Try("status", "db")
		replicas := strings.Count(r.Stdout, " replica ")
		if r.Code != 0 || strings.Count(r.Stdout, " primary ") != 1 || replicas != members-1 {
			return errors.New(r.Stdout)
		}
		return nil
	}))
}

// Kill deletes the pod of a member, in order or by force.
func (s *Scene) Kill(member string, force bool) {
	s.Helper()
	var o metav1.DeleteOptions
	if force {
		o.GracePeriodSeconds = new(int64(0))
	}
	s.OK(s.Site.Client.CoreV1().Pods(s.NS).Delete(s.Ctx, member+"-0", o))
}

// OK ends the test at an error.
func (s *Scene) OK(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
