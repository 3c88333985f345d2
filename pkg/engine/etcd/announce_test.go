package etcd

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestRollingDowngrade takes three members from 3.7 to 3.6 and back up again, without a pause, and goes back once in
// the middle of the way down. Where DBOP_TORTURE is all, it goes down to 3.5.
func TestRollingDowngrade(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "down", 3)
	members := f.names()
	f.form(series37, members...)
	f.eventually("written", func() error { return f.put(members[0], "key", "value", "") })
	want, err := f.session.Fingerprint(t.Context(), members[0])
	if err != nil {
		t.Fatal(err)
	}
	steps := [][2]string{{series37, series36}}
	if os.Getenv("DBOP_TORTURE") == "all" {
		steps = append(steps, [2]string{series36, series35})
	}
	for _, step := range steps {
		f.turnBack(step[0], step[1])
		f.downgrade(step[0], step[1])
	}
	for _, step := range slices.Backward(steps) {
		f.upgrade(step[1], step[0], false)
	}
	for _, member := range members {
		got, err := f.session.Fingerprint(t.Context(), member)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("data of %s afterwards: %v %s", member, err, diff)
		}
	}
}

// announce makes the cluster ready for the step and waits until it is.
func (f *fleet) announce(from, to string) {
	t, members, target := f.t, f.names(), versionOf(f.t, to)
	f.eventually("settled on "+from, func() error {
		return New().CheckUpgraded(f.session.Observe(t.Context(), members), versionOf(t, from))
	})
	v := f.healthy(members...)
	if err := New().CheckDowngrade(v, f.cluster.Spec, target); err != nil {
		t.Fatalf("the downgrade to %s: %v", target, err)
	}
	if err := New().CheckLowered(v, target); !errors.Is(err, engine.ErrNotReady) {
		t.Fatalf("lowered before it was announced: %v", err)
	}
	started := time.Now()
	for range 2 { // a repeat changes nothing
		f.whenReady("announce", func() error { return f.session.AnnounceDowngrade(t.Context(), target) })
	}
	f.eventually("lowered to "+to, func() error {
		v = f.session.Observe(t.Context(), members)
		return New().CheckLowered(v, target)
	})
	t.Logf("lowered to %s in %v", to, time.Since(started))
	// Without this a member that is killed now may start no more: what it
	// replays from its log still raises the cluster to the newer version.
	if err := f.session.PrepareUpgrade(t.Context(), members, target); err != nil {
		t.Fatal(err)
	}
	if v.Downgrade == "" {
		t.Errorf("the downgrade to %s is not seen", to)
	}
	expect(t, New().CheckAdd(v), "downgrade-pending", "nobody join")
}

func (f *fleet) downgrade(from, to string) {
	t, members, target := f.t, f.names(), versionOf(f.t, to)
	f.announce(from, to)
	for i, member := range members {
		v := f.healthy(members...)
		if err := New().CheckLowered(v, target); err != nil {
			t.Fatalf("step %d of the downgrade to %s: %v", i+1, to, err)
		}
		if err := New().CheckUpgraded(v, target); !errors.Is(err, engine.ErrNotReady) {
			t.Fatalf("downgrade to %s complete after %d steps: %v", to, i, err)
		}
		t.Logf("%d moved to %s, announced: %q", i, to, v.Downgrade)
		f.restart(to, member)
	}
	started := time.Now()
	f.ended(to)
	t.Logf("ended on %s in %v", to, time.Since(started))
	for _, m := range f.healthy(members...).Members {
		t.Logf("%s: version %s, protocol %s, schema %q", m.Name, m.Version, m.Protocol, m.Schema)
	}
}

// ended waits until a series is what everybody runs and nothing is announced.
func (f *fleet) ended(series string) {
	f.t.Helper()
	f.eventually("ended on "+series, func() error {
		v := f.session.Observe(f.t.Context(), f.names())
		if v.Downgrade != "" {
			return errors.New("a downgrade is announced: " + v.Downgrade)
		}
		return New().CheckUpgraded(v, versionOf(f.t, series))
	})
}

// turnBack moves one member down, takes the downgrade back and the member up again.
func (f *fleet) turnBack(from, to string) {
	t, members := f.t, f.names()
	f.announce(from, to)
	if err := f.session.WithdrawDowngrade(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.ended(from)
	f.announce(from, to)
	f.restart(to, members[0])
	f.healthy(members...)
	for range 2 {
		f.whenReady("withdraw", func() error { return f.session.WithdrawDowngrade(t.Context()) })
	}
	// Who moved may restart now as before.
	f.restart(to, members[0])
	v := f.healthy(members...)
	if v.Downgrade != "" {
		t.Errorf("still announced: %s", v.Downgrade)
	}
	f.restart(from, members[0])
	f.ended(from)
	f.healthy(members...)
}

// TestDowngradeEndsEarly shows what 3.5 makes of it: as soon as one of it
// leads, it takes the downgrade for done. The others may move all the same.
func TestDowngradeEndsEarly(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "early", 3)
	members := f.names()
	f.form(series36, members...)
	f.announce(series36, series35)
	f.restart(series35, members[0])
	f.healthy(members...)
	f.whenReady("hand over", func() error { return f.session.HandOver(t.Context(), members[0]) })
	f.eventually("called off", func() error {
		if v := f.session.Observe(t.Context(), members); v.Downgrade != "" || !v.Quorum {
			return errors.New("a downgrade is announced: " + v.Downgrade)
		}
		return nil
	})
	f.restart(series36, members[1]) // one that has not moved may restart as it is
	f.healthy(members...)
	for _, member := range members[1:] {
		if err := New().CheckLowered(f.healthy(members...), versionOf(t, series35)); err != nil {
			t.Fatal(err)
		}
		f.restart(series35, member)
	}
	f.ended(series35)
}

// TestDowngradeLeftOpen: one that nobody ended is seen in 3.5 as well, and bars the way up.
func TestDowngradeLeftOpen(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "open", 2)
	f.form(series36, f.names()...)
	f.announce(series36, series35)
	// etcd ends it once every member has moved; here one has not, and doesn't lead.
	f.restart(series35, f.name(1))
	f.whenReady("hand over", func() error { return f.session.HandOver(t.Context(), f.name(1)) })
	var v engine.View
	f.eventually("what is announced is known", func() error {
		if v = f.healthy(f.names()...); v.DowngradeUnknown {
			return engine.ErrNotReady
		}
		return nil
	})
	if v.Downgrade == "" {
		t.Fatal("it is not seen")
	}
	expect(t, New().CheckUpgrade(v, f.cluster.Spec, versionOf(t, series36)), "downgrade-pending", "under way")
	if err := f.session.WithdrawDowngrade(t.Context()); err != nil {
		t.Error(err)
	}
	if v := f.session.Observe(t.Context(), f.names()); strings.TrimSpace(v.Downgrade) != "" {
		t.Errorf("still announced: %s", v.Downgrade)
	}
}
