// Package contracttest checks what every engine must keep of its contract. An
// engine's own tests call Run with a Case of its own.
package contracttest

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Case is an engine and what can't be known of it without its words.
type Case struct {
	Engine engine.Engine
	// Cluster has three members and its initial members recorded.
	Cluster *v1alpha1.DatabaseCluster
	// View is of that cluster: three healthy voters, the first of which leads,
	// all at the first of Positions.
	View engine.View
	// Versions in rising order, and what is none.
	Versions, NotVersions []string
	// Positions of one history in rising order, at least two. ForeignPosition is
	// of another history.
	Positions       []engine.Position
	ForeignPosition engine.Position
	// Proofs of two bodies of data that differ; none for an engine that can't prove.
	Proofs []engine.Proof
}

// Run checks every property of the contract, each as a test of its own.
func Run(t *testing.T, c Case) {
	t.Helper()
	for name, check := range checks() {
		t.Run(name, func(t *testing.T) { check(t, c) })
	}
}

// Broken names the properties that an engine does not keep, sorted: for tests
// that break one on purpose.
func Broken(t testing.TB, c Case) []string {
	t.Helper()
	var out []string
	for name, check := range checks() {
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() { // a fatal error ends the goroutine that it happens in
			defer close(done)
			check(r, c)
		}()
		<-done
		if r.failed {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// recorder notes a failure and keeps it from the test.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Error(...any)          { r.failed = true }
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Fatal(...any)          { r.failed = true; runtime.Goexit() }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; runtime.Goexit() }

func checks() map[string]func(testing.TB, Case) {
	return map[string]func(testing.TB, Case){
		"versions are in a total order":             versions,
		"the catalog is in the order of versions":   catalog,
		"positions are compared or can't be":        positions,
		"a lag has two ends":                        lag,
		"nothing proves nothing":                    proofs,
		"rendering is deterministic":                rendering,
		"an existing member can't found a cluster":  bootstrap,
		"capabilities are what the engine can do":   capabilities,
		"health needs an answer and a majority":     health,
		"nobody leads who is behind":                successors,
		"a backup comes from somebody healthy":      sources,
		"who leaves is a member, and the worst off": candidates,
		"the margin is counted":                     margins,
		"questions change nothing":                  purity,
		"a witness holds no data":                   witnesses,
		"a pod is restricted":                       restricted,
	}
}

func versions(t testing.TB, c Case) {
	e := c.Engine
	for i, a := range c.Versions {
		for j, b := range c.Versions {
			if got, ok := e.CompareVersions(a, b); !ok || sign(got) != sign(i-j) {
				t.Errorf("%s and %s compare as %d (%t), want %d", a, b, got, ok, sign(i-j))
			}
		}
		series := e.Series(a)
		if series == "" || e.Series(series) != series {
			t.Errorf("the series of %s is %q, and the series of that is %q", a, series, e.Series(series))
		}
		if !engine.SameSeries(e, a, series) {
			t.Errorf("%s is not of its own series %s", a, series)
		}
	}
	for _, no := range append(c.NotVersions, "", "latest") {
		if got, ok := e.CompareVersions(no, c.Versions[0]); ok {
			t.Errorf("%q is no version and compares as %d", no, got)
		}
		if got, ok := e.CompareVersions(c.Versions[0], no); ok {
			t.Errorf("%q is no version and compares as %d", no, got)
		}
		if s := e.Series(no); s != "" || engine.SameSeries(e, no, no) {
			t.Errorf("%q is no version and has series %q", no, s)
		}
	}
}

func catalog(t testing.TB, c Case) {
	releases := c.Engine.Catalog().Releases
	if len(releases) == 0 {
		t.Fatal("there is nothing to run")
	}
	newest := map[string]string{}
	for i, r := range releases {
		if i > 0 {
			if order, ok := c.Engine.CompareVersions(releases[i-1].Version, r.Version); !ok || order >= 0 {
				t.Errorf("%s is listed before %s", releases[i-1].Version, r.Version)
			}
		}
		if s := c.Engine.Series(r.Version); s == "" || s != r.Series {
			t.Errorf("%s is listed in series %q, and is of %q", r.Version, r.Series, s)
		}
		if found, err := c.Engine.Catalog().Resolve(r.Version); err != nil || found != r {
			t.Errorf("%s resolves to %+v (%v)", r.Version, found, err)
		}
		if r.Image == "" {
			t.Errorf("%s has no image", r.Version)
		}
		newest[r.Series] = r.Version
	}
	for series, version := range newest {
		if found, err := c.Engine.Catalog().Resolve(series); err != nil || found.Version != version {
			t.Errorf("series %s resolves to %q (%v), want %s", series, found.Version, err, version)
		}
	}
	if d := c.Engine.Catalog().Default; d != "" {
		if _, err := c.Engine.Catalog().Resolve(d); err != nil {
			t.Errorf("the default: %v", err)
		}
	}
}

func positions(t testing.TB, c Case) {
	for i, a := range c.Positions {
		for j, b := range c.Positions {
			if got, ok := c.Engine.Compare(a, b); !ok || sign(got) != sign(i-j) {
				t.Errorf("%s and %s compare as %d (%t), want %d", a, b, got, ok, sign(i-j))
			}
		}
		for _, other := range []engine.Position{c.ForeignPosition, "", "?"} {
			if got, ok := c.Engine.Compare(a, other); ok {
				t.Errorf("%q and %q can't be compared, and are: %d", a, other, got)
			}
			if got, ok := c.Engine.Compare(other, a); ok {
				t.Errorf("%q and %q can't be compared, and are: %d", other, a, got)
			}
		}
		seen := map[string]bool{}
		for _, r := range c.Engine.Readings(a) {
			if r.Name == "" || r.Value == "" || seen[r.Name] {
				t.Errorf("position %s reads as %+v", a, c.Engine.Readings(a))
			}
			seen[r.Name] = true
		}
	}
	if got := c.Engine.Readings("?"); got != nil {
		t.Errorf("what is no position reads as %+v", got)
	}
}

func lag(t testing.TB, c Case) {
	for i, leader := range c.Positions {
		for j, member := range c.Positions {
			got, ok := c.Engine.Lag(engine.Gap{Leader: leader, Member: member})
			if !ok || got.Unit == "" || (got.Amount > 0) != (i > j) || got.Amount < 0 {
				t.Errorf("a member at %s is %s (%t) behind a leader at %s", member, got, ok, leader)
			}
		}
	}
	if got, ok := c.Engine.Lag(engine.Gap{Leader: c.Positions[0], Member: c.ForeignPosition}); ok {
		t.Errorf("a member of another history is %s behind", got)
	}
}

func proofs(t testing.TB, c Case) {
	for i, p := range append(slices.Clone(c.Proofs), "") {
		for j, q := range append(slices.Clone(c.Proofs), "") {
			want := engine.MatchDifferent
			switch {
			case p == "" || q == "":
				want = engine.MatchUnknown
			case i == j:
				want = engine.MatchSame
			}
			if got := c.Engine.CompareProofs(p, q); got != want {
				t.Errorf("%q and %q: %q, want %q", p, q, got, want)
			}
		}
	}
}

func rendering(t testing.TB, c Case) {
	for _, in := range inputs(c) {
		first := pod(t, c, in)
		if diff := cmp.Diff(first, pod(t, c, in)); diff != "" {
			t.Errorf("rendered twice: %s", diff)
		}
		if c := first.Container; c.Name == "" || c.Image != in.Image || first.DataPath == "" || first.GraceSeconds <= 0 {
			t.Errorf("pod %+v", first)
		}
		if s := first.Container.SecurityContext; s != nil && s.Privileged != nil && *s.Privileged {
			t.Error("the container is privileged")
		}
	}
	names := map[string]bool{}
	for _, p := range c.Engine.Ports(c.Cluster) {
		if p.Name == "" || names[p.Name] || p.Port <= 0 || p.TargetPort == (intstr.IntOrString{}) {
			t.Errorf("port %+v", p)
		}
		names[p.Name] = true
	}
	if !names["client"] {
		t.Error("there is no port for clients")
	}
}

func bootstrap(t testing.TB, c Case) {
	for _, in := range inputs(c) {
		template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{pod(t, c, in).Container}}}
		before := template.DeepCopy()
		sealed := c.Engine.DisableBootstrap(template)
		if diff := cmp.Diff(*before, template); diff != "" {
			t.Errorf("the argument was changed: %s", diff)
		}
		if !in.Bootstrap && cmp.Diff(template, sealed) != "" {
			t.Errorf("who joins was changed: %s", cmp.Diff(template, sealed))
		}
		if diff := cmp.Diff(sealed, c.Engine.DisableBootstrap(sealed)); diff != "" {
			t.Errorf("a repeat changes: %s", diff)
		}
	}
}

func capabilities(t testing.TB, c Case) {
	session := connect(t, c)
	caps := c.Engine.Capabilities()
	is := func(what string, claimed, able bool) {
		if claimed != able {
			t.Errorf("%s: the engine says %t, and can: %t", what, claimed, able)
		}
	}
	_, authenticates := session.(engine.Authenticator)
	is("users", caps.Users, authenticates)
	_, announces := session.(engine.Downgrader)
	is("announced downgrades", caps.Announce, announces)
	_, defragments := session.(engine.Defragmenter)
	is("defragmentation", caps.DefragmentGain > 0, defragments)
	_, compactor := c.Engine.(engine.CompactionRules)
	_, compacts := session.(engine.Compactor)
	is("history", compactor, compacts)
	_, dataHashes := c.Engine.(engine.DataHasher)
	_, attests := session.(engine.HashVerifier)
	is("a hash of a data directory", dataHashes, attests)
	if caps.MaxMembers < 1 {
		t.Errorf("at most %d members", caps.MaxMembers)
	}
	if caps.Quorum && c.Engine.Tolerates(c.View) < 1 {
		t.Error("three voters tolerate no failure")
	}
}

// connect makes a session that reaches nobody.
func connect(t testing.TB, c Case) engine.Session {
	t.Helper()
	nobody := func(context.Context, string, int) (net.Conn, error) { return nil, errors.New("nobody is reached") }
	session, err := c.Engine.Connect(engine.Access{Cluster: c.Cluster, Dial: nobody})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func purity(t testing.TB, c Case) {
	before := clone(c.View)
	spec := *c.Cluster.Spec.DeepCopy()
	for _, target := range c.Versions {
		_ = c.Engine.CheckUpgrade(c.View, spec, target)
		_ = c.Engine.CheckDowngrade(c.View, spec, target)
		_ = c.Engine.CheckUpgraded(c.View, target)
		_ = c.Engine.CheckLowered(c.View, target)
		_ = c.Engine.CheckRollback(c.View, target)
		_ = c.Engine.Preparation(c.View, target)
	}
	_ = c.Engine.CheckAdd(c.View)
	_ = c.Engine.CheckRemove(c.View, c.View.Members[0].Name)
	_ = c.Engine.CheckSettings(c.View, spec, true)
	_ = c.Engine.CheckCreate(spec, true)
	if diff := cmp.Diff(before, c.View); diff != "" {
		t.Errorf("the view was changed: %s", diff)
	}
	if diff := cmp.Diff(c.Cluster.Spec, spec); diff != "" {
		t.Errorf("the spec was changed: %s", diff)
	}
}

func sign(n int) int { return max(-1, min(1, n)) }
