//go:build e2e

package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestAPIServerRestarts kills the API server in the middle of a change, which
// rides it out. One that is away for longer than the lease ends the command,
// and so does a Kubernetes that does not find back within the time of a wait
// (its name server was seen to tell a restarted member's old address for three
// minutes, and its nodes to be taken for lost); it is then typed again. It
// disturbs every cluster there is, so nothing runs beside it.
func TestAPIServerRestarts(t *testing.T) {
	s := newLoneScene(t, "api", "my-db")
	machine, err := s.site.Machine()
	if errors.Is(err, harness.ErrNoMachine) {
		t.Skip(err)
	}
	s.ok(err)
	seed := torture.Seed(t)
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	s.create("my-db", "3.5", "3")
	l := s.underLoad("my-db", seed)
	for _, c := range []struct {
		name, said string
		args       []string
		members    int
	}{
		{"scale 3 to 5", "Register my-db-5", []string{"scale", "my-db", "--members", "5"}, 5},
		{"upgrade of 5", "Restart my-db-", []string{"upgrade", "my-db", "--version", "3.6", "--skip-backup"}, 5},
	} {
		row := torture.Row{Verb: "API server restarted", Where: "in the middle of " + c.name, Result: "FAILED", Runs: 1}
		began := time.Now()
		p := s.begin(s.cli, append(c.args, "--progress", "plain")...)
		s.ok(untilSaid(s.ctx, p, c.said))
		killed := time.Now()
		s.ok(machine.Cluster(s.ctx, "component", "restart", "kube-apiserver", "--away", "1s"))
		away := time.Since(killed)
		r, err := p.Wait()
		s.ok(err)
		if r.Code != 0 {
			if !strings.Contains(r.Stderr, "waited 3m0s for") {
				s.judge(r, 1, "lease")
				if away < leaseTime-leaseTime/3 {
					t.Fatalf("it does not ride out an API server that is away for %s:\n%s", away, r)
				}
			}
			t.Logf("typed again:\n%s", r)
			row.Runs++
			s.ok(harness.Until(s.ctx, foundBackWithin, "Kubernetes to find back", s.foundBack))
			s.must(c.args...)
		}
		s.ok(harness.Until(s.ctx, foundBackWithin, "Kubernetes to find back", s.foundBack))
		row.Gap = l.writer.LongestGap(began, time.Now())
		t.Logf("%s: the API server was away for %s, all was done after %s, longest write gap %s",
			c.name, away.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), row.Gap.Round(time.Millisecond))
		s.healthy("my-db", c.members)
		s.settledVolumes("my-db", c.members)
		if !t.Failed() {
			row.Result = "ok, away for " + away.Round(time.Second).String()
		}
		results.Add(row)
	}
	l.end()
}

// foundBackWithin is for Kubernetes itself: its controllers back off from an
// API server that was away, each in its own time.
const foundBackWithin = 5 * time.Minute

// foundBack tells whether Kubernetes knows again what is the case: that its
// nodes are there, and where the pods of the namespace are.
func (s *scene) foundBack(ctx context.Context) error {
	nodes, err := s.site.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		if !nodeReady(n) {
			return fmt.Errorf("%s is not ready", n.Name)
		}
	}
	pods, err := s.site.Client.CoreV1().Pods(s.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	slices, err := s.site.Client.DiscoveryV1().EndpointSlices(s.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			for _, address := range endpoint.Addresses {
				known[address] = true
			}
		}
	}
	for _, p := range pods.Items {
		if !known[p.Status.PodIP] {
			return fmt.Errorf("no endpoint of %s at %q", p.Name, p.Status.PodIP)
		}
	}
	return nil
}

// TestOperatorOutlivesServer: the API server restarts while an operator works,
// and the definition of its kind goes and comes back. It takes custom resources
// of all tests along, so nothing runs beside it.
func TestOperatorOutlivesServer(t *testing.T) {
	s := newLoneScene(t, "opapi", "my-db")
	machine, err := s.site.Machine()
	if errors.Is(err, harness.ErrNoMachine) {
		t.Skip(err)
	}
	s.ok(err)
	s.definitions()
	s.create("my-db", "3.6", "1")
	s.must("operator", "adopt", "my-db")
	c := s.custom()
	op := s.deployed()
	s.ok(untilSaid(s.ctx, op.current(), "Starting workers"))
	s.ok(c.patch("my-db", func(spec *v1alpha1.DatabaseClusterSpec) { spec.Members = 3 }))
	s.ok(untilSaid(s.ctx, op.current(), `"step":"register-member/`))
	s.ok(machine.Cluster(s.ctx, "component", "restart", "kube-apiserver", "--away", "1s"))
	back := time.Now()
	s.ok(harness.Until(s.ctx, foundBackWithin, "Kubernetes to find back", s.foundBack))
	c.readyBy(foundBackWithin, "my-db", 3) // its pods are made by controllers that back off
	t.Logf("ready %s after the API server was back", time.Since(back).Round(100*time.Millisecond))
	if r := s.must("history", "my-db"); strings.Count(r.Stdout, "scale") != 1 {
		t.Errorf("one wish became several operations:\n%s", r)
	}

	// The kind goes, and every custom resource with it: no database notices.
	kubectl := func(args ...string) {
		r, err := s.site.Kubectl(s.home).Run(s.ctx, args...)
		s.ok(err)
		if r.Code != 0 {
			t.Fatal(r)
		}
	}
	pods := s.databasePods("my-db")
	kubectl("delete", "crd", "databaseclusters.dbop.dev", "--wait=true")
	time.Sleep(leftAloneFor)
	s.definitions()
	time.Sleep(leftAloneFor)
	if after := s.databasePods("my-db"); !maps.Equal(pods, after) {
		t.Errorf("pods before the kind went %v, after it came back %v", pods, after)
	}
	s.says(s.try("status", "my-db"), "databasecluster my-db is missing")
	kubectl("delete", "crd", "databaseclusters.dbop.dev", "--wait=true")
	s.must("operator", "release", "my-db")
	s.must("configure", "my-db", "--set", "auto-compaction-retention=2h", "--dry-run=server")
	s.healthy("my-db", 3)

	// It comes back, as an older one, and the operator finds out by itself.
	s.definitions()
	kubectl("patch", "crd", "databaseclusters.dbop.dev", "--type=json", "--patch", `[`+
		`{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/summary"},`+
		`{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/waive"}]`)
	s.must("operator", "adopt", "my-db")
	back = time.Now()
	s.ok(c.patch("my-db", func(spec *v1alpha1.DatabaseClusterSpec) { spec.Members = 1 }))
	c.ready("my-db", 1)
	t.Logf("an edit came true %s after the kind was back", time.Since(back).Round(100*time.Millisecond))
	if r := op.stop(); r.Code != 0 {
		t.Errorf("told to stop after %d restarts:\n%s", op.restarts, r)
	}
}
