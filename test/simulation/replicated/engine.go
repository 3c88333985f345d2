// Package replicated is an engine of the simulation: a primary with replicas whose
// agents agree on who is a member, who votes and who leads, by the rules of package
// agreed. It has no learners, a pair has a witness, versions are of two parts
// ("17.5"), and positions of two timelines can't be compared. Its members run in the
// world of package simulation; here are the pure parts.
package replicated

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// Engine implements engine.Engine.
type Engine struct{ agreed.Rules }

var _ engine.Engine = Engine{}

// New returns the engine.
func New() Engine {
	return Engine{agreed.Rules{Versions: versions{}, NearEnough: 40, MostLag: 1000, MaxMembers: 9}}
}

// Name implements engine.Engine.
func (Engine) Name() string { return "replicated" }

// Capabilities implements engine.Engine.
func (Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{Quorum: true, HandOver: true, MaxMembers: New().MaxMembers}
}

// Catalog implements engine.Engine.
func (Engine) Catalog() engine.Catalog {
	c := engine.Catalog{Default: "17.5"}
	for _, v := range []string{"16.9", "17.4", "17.5", "17.10", "18.0"} {
		r := engine.Release{Version: v, Series: versions{}.Series(v), Image: "example.org/agreed:" + v}
		c.Releases = append(c.Releases, r)
	}
	return c
}

// Connect implements engine.Engine. Members are reached in the world alone.
func (Engine) Connect(a engine.Access) (engine.Session, error) { return session{a}, nil }

// session reaches nobody; what a member shows it reads by its access.
type session struct{ access engine.Access }

var (
	_         engine.WitnessRegistrar = session{}
	_         engine.Presenter        = session{}
	errNobody                         = errors.New("the members run in a simulated world")
)

// Present implements engine.Presenter.
func (s session) Present(ctx context.Context, member string) (engine.Presented, error) {
	raw, err := s.access.Dial(ctx, member, 1)
	if err != nil {
		return engine.Presented{}, fmt.Errorf("dial %s: %w", member, err)
	}
	return engine.ReadPresented(ctx, raw, s.access.TLS)
}

func (session) Observe(_ context.Context, members []string) engine.View {
	var v engine.View
	for _, name := range members {
		v.Members = append(v.Members, engine.Member{Name: name, Role: engine.RoleUnknown, Problem: errNobody.Error()})
	}
	return v
}

func (session) Register(context.Context, string) error           { return errNobody }
func (session) RegisterWitness(context.Context, string) error    { return errNobody }
func (session) Promote(context.Context, string) error            { return errNobody }
func (session) Deregister(context.Context, string, string) error { return errNobody }
func (session) HandOver(context.Context, string) error           { return errNobody }

func (session) Snapshot(context.Context, string, io.Writer, func(int64)) error { return errNobody }

func (session) Fingerprint(context.Context, string) (engine.Fingerprint, error) {
	return engine.Fingerprint{}, errNobody
}

func (session) Close() error { return nil }

// OpenSnapshot implements engine.Snapshotter: the world keeps backups itself.
func (Engine) OpenSnapshot(path string, _ bool) (engine.SnapshotFacts, error) {
	return engine.SnapshotFacts{}, fmt.Errorf("open %s: %w", path, engine.ErrNotSnapshot)
}

// CheckStream implements engine.Snapshotter.
func (Engine) CheckStream() io.WriteCloser { return stream{} }

type stream struct{}

func (stream) Write(p []byte) (int, error) { return len(p), nil }
func (stream) Close() error                { return engine.ErrNotSnapshot }

// LoadCommand implements engine.Snapshotter.
func (Engine) LoadCommand(in engine.LoadInput) []string {
	return []string{"agent", "load", "--token=" + in.Token, in.File, in.DataDir}
}

var _ engine.DataRecoverer = Engine{}

// InspectDataDir implements engine.DataRecoverer: the world reads its volumes itself.
func (Engine) InspectDataDir(string) engine.DataDirInfo {
	return engine.DataDirInfo{Problem: errNobody.Error()}
}

// RecoveryPod implements engine.DataRecoverer.
func (e Engine) RecoveryPod(in engine.PodInput) (engine.Pod, error) {
	in.Loopback, in.Bootstrap = true, true
	return e.Pod(in)
}
