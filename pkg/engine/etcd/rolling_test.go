package etcd

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestRollingUpgrade takes three members from 3.5 over 3.6 to 3.7, and back
// once in the middle.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "roll", 3)
	members := f.names()
	f.form(series35, members...)
	f.eventually("written", func() error { return f.put(members[0], "key", "value", "") })
	want, err := f.session.Fingerprint(t.Context(), members[0])
	if err != nil {
		t.Fatal(err)
	}
	f.upgrade(series35, series36, true)
	f.upgrade(series36, series37, false)
	for _, member := range members {
		got, err := f.session.Fingerprint(t.Context(), member)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("data of %s after the upgrades: %v %s", member, err, diff)
		}
	}
}

func (f *fleet) upgrade(from, to string, undo bool) {
	t, members := f.t, f.names()
	old, target := versionOf(t, from), versionOf(t, to)
	started := time.Now()
	if err := f.session.PrepareUpgrade(t.Context(), members, target); err != nil {
		t.Fatal(err)
	}
	t.Logf("prepared the upgrade to %s in %v", target, time.Since(started))
	for i := range members {
		v := f.healthy(members...)
		if err := New().CheckUpgrade(v, f.cluster.Spec, target); err != nil {
			t.Fatalf("step %d of the upgrade to %s: %v", i+1, target, err)
		}
		if err := New().CheckUpgraded(v, target); !errors.Is(err, engine.ErrNotReady) {
			t.Fatalf("upgrade to %s complete after %d steps: %v", target, i, err)
		}
		if err := New().CheckRollback(v, old); err != nil {
			t.Fatalf("rollback to %s after %d steps: %v", old, i, err)
		}
		f.restart(to, members[i])
		if undo && i == 1 {
			f.healthy(members...)
			f.restart(from, members[i])
			f.healthy(members...)
			f.restart(to, members[i])
		}
	}
	f.eventually("upgraded to "+target, func() error {
		return New().CheckUpgraded(f.session.Observe(t.Context(), members), target)
	})
	v := f.healthy(members...)
	if err := New().CheckRollback(v, old); err == nil || !strings.Contains(err.Error(), "cannot join") {
		t.Errorf("rollback to %s after the upgrade: %v", old, err)
	}
	for _, m := range v.Members {
		t.Logf("%s: version %s, protocol %s, schema %q", m.Name, m.Version, m.Protocol, m.Schema)
	}
}

// restart moves a member to a series, sealed as all are once they have formed.
func (f *fleet) restart(series, member string) {
	f.t.Helper()
	f.kill(member)
	f.start(series, member, false, f.names()...)
}
