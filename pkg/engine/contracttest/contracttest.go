// Package contracttest checks what every engine must keep of its contract. An
// engine's own tests call Run with a Case of its own.
package contracttest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Case is an engine and what can't be known of it without its words.
type Case struct {
	Engine engine.Engine
	// Cluster has three members and its initial members recorded. Its members serve certificates, unless the engine can't.
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
		"members join side by side only as told":    joins,
		"questions change nothing":                  purity,
		"a witness holds no data":                   witnesses,
		"a pod is restricted":                       restricted,
		"a member shows its certificate":            presented,
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
	_, live := c.Engine.(engine.LiveSettings)
	_, configures := session.(engine.Configurer)
	is("settings of a running database", live, configures)
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
	access := engine.Access{Cluster: c.Cluster, Dial: nobody}
	if !c.Cluster.Spec.TLS.Disabled {
		own := ranOut(t)
		access.TLS = &tls.Config{RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{own},
			MinVersion: tls.VersionTLS12}
	}
	session, err := c.Engine.Connect(access)
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
