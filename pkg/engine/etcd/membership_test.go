package etcd

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestMembership takes a member through its life on every series, with every
// request made twice, as a process that was killed in between makes it.
func TestMembership(t *testing.T) {
	t.Parallel()
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "life", 2)
			f.tlsProbes(series)
			f.register(series)
			f.promote()
			f.handOver()
			f.deregister()
		})
	}
}

// tlsProbes starts the seed and asks what the probes ask.
func (f *fleet) tlsProbes(series string) {
	f.t.Helper()
	seed := f.name(1)
	f.form(series, seed)
	for _, path := range []string{"/livez", "/readyz"} {
		f.eventually(path, func() error {
			resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", f.members[seed].metrics, path))
			if err != nil {
				return err
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != http.StatusOK {
				return errors.New(resp.Status)
			}
			return nil
		})
	}
}

func (f *fleet) register(series string) {
	t, ctx, seed, joining := f.t, f.t.Context(), f.name(1), f.name(2)
	if err := New().CheckAdd(f.healthy(seed)); err != nil {
		t.Fatalf("add to a healthy seed: %v", err)
	}
	for range 2 {
		f.whenReady("register", func() error { return f.session.Register(ctx, joining) })
	}
	v := f.session.Observe(ctx, f.names())
	entry, ok := v.Registered(joining)
	if !ok || entry.Started || entry.Voter {
		t.Fatalf("entry of a registered member: %+v, roster %+v", entry, v.MemberList)
	}
	if err := New().CheckAdd(v); err == nil {
		t.Error("another member may join while one has not started")
	}
	if err := f.session.Promote(ctx, joining); !errors.Is(err, engine.ErrNotReady) {
		t.Errorf("promote before the start: %v", err)
	}
	f.start(series, joining, false, f.names()...)
	f.eventually("learner started", func() error {
		v = f.session.Observe(ctx, f.names())
		if entry, _ := v.Registered(joining); !entry.Started || !v.Member(joining).Reachable {
			return fmt.Errorf("entry %+v, member %+v", entry, v.Member(joining))
		}
		return nil
	})
	if m := v.Member(joining); m.Role != engine.RoleLearner || m.Serving || health(v, joining) == nil ||
		health(v, seed) != nil {
		t.Errorf("learner: %+v (%v), seed: %v", m, health(v, joining), health(v, seed))
	}
	if err := f.session.Register(ctx, joining); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("register a started member: %v", err)
	}
}

func (f *fleet) promote() {
	joining := f.name(2)
	for range 2 {
		f.whenReady("promote", func() error { return f.session.Promote(f.t.Context(), joining) })
	}
	v := f.healthy(f.names()...)
	if len(v.Voters()) != 2 || New().Tolerates(v) != 0 {
		f.t.Errorf("voters %v, tolerates %d", v.Voters(), New().Tolerates(v))
	}
}

func (f *fleet) handOver() {
	t, ctx, joining := f.t, f.t.Context(), f.name(2)
	if got := New().Successor(f.healthy(f.names()...)); got != joining {
		t.Errorf("successor %q", got)
	}
	for range 2 {
		f.whenReady("hand over", func() error { return f.session.HandOver(ctx, joining) })
	}
	if l, _ := f.healthy(f.names()...).Leader(); l.Name != joining {
		t.Errorf("%s leads after a hand-over to %s", l.Name, joining)
	}
	if err := f.session.HandOver(ctx, "unknown-1"); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("hand over to an unknown member: %v", err)
	}
}

// registered waits for the identity of a member that is registered: between two leaders nobody lists it.
func (f *fleet) registered(name string) (id string) {
	f.t.Helper()
	f.eventually("the identity of "+name, func() error {
		r, ok := f.session.Observe(f.t.Context(), f.names()).Registered(name)
		if id = r.ID; !ok || id == "" {
			return errors.New("it is not registered")
		}
		return nil
	})
	return id
}

func (f *fleet) deregister() {
	t, ctx, seed := f.t, f.t.Context(), f.name(1)
	if err := New().CheckRemove(f.healthy(f.names()...), seed); err != nil {
		t.Errorf("remove one of two: %v", err)
	}
	id := f.registered(seed)
	for range 2 {
		f.whenReady("deregister", func() error { return f.session.Deregister(ctx, seed, id) })
	}
	// A successor of that name is another member: a caller that still holds the former
	// identity does not remove it.
	f.whenReady("register a successor", func() error { return f.session.Register(ctx, seed) })
	f.whenReady("deregister the former once more", func() error { return f.session.Deregister(ctx, seed, id) })
	successor := f.registered(seed)
	if successor == "" || successor == id {
		t.Errorf("the successor of %s has the identity %q", id, successor)
	}
	f.whenReady("deregister the successor", func() error { return f.session.Deregister(ctx, seed, successor) })
	v := f.healthy(f.name(2))
	if _, ok := v.Registered(seed); ok {
		t.Errorf("roster after removal: %v", v.MemberList)
	}
	if err := New().CheckRemove(v, f.name(2)); err == nil {
		t.Error("the last member may leave")
	}
}
