package etcd

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestCheckUpgraded(t *testing.T) {
	t.Parallel()
	all := func(version, protocol, schema string) engine.View {
		return world(3, running(version, 1, 2, 3), speaking(protocol, schema))
	}
	for _, c := range []struct {
		name   string
		view   engine.View
		target string
		want   string
	}{
		{"done", all("3.6.16", "3.6.0", "3.6.0"), "3.6.16", ""},
		{"done without storage version", all("3.5.35", "3.5.0", ""), "3.5.35", ""},
		{"one member behind", world(3, running("3.6.14", 2)), "3.6.16", "member db-2 runs version 3.6.14, not 3.6.16"},
		{"cluster version behind", all("3.7.3", "3.6.0", "3.6.0"), "3.7.3", "speaks cluster version 3.6.0, not 3.7"},
		{"cluster version unknown", all("3.7.3", "", "3.7.0"), "3.7.3", "cluster version unknown"},
		{"storage behind", all("3.7.3", "3.7.0", "3.6.0"), "3.7.3", "storage version 3.6.0, not 3.7"},
		{"storage unknown", all("3.6.16", "3.6.0", ""), "3.6.16", "storage version unknown"},
		{"not reached", world(3, down(1)), "3.6.16", "member db-1 was not reached: refused"},
		{"the leader keeps silent", world(3, func(v *engine.View) { v.DowngradeUnknown = true }), "3.6.16",
			"no leader says"},
		{"no quorum", world(3, noQuorum), "3.6.16", "no quorum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := New().CheckUpgraded(c.view, c.target)
			if c.want == "" {
				if err != nil {
					t.Errorf("not complete: %v", err)
				}
				return
			}
			if !errors.Is(err, engine.ErrNotReady) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCheckRollback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		view          engine.View
		to            string
		check, reason string
	}{
		{name: "mixed", view: world(3, running("3.7.3", 2, 3)), to: "3.6.16"},
		{name: "patch", view: world(3), to: "3.6.14"},
		{name: "one member does not answer", view: world(3, down(2)), to: "3.6.16"},
		{name: "too late", view: world(3, running("3.7.3", 1, 2, 3), speaking("3.7.0", "3.6.0")), to: "3.6.16",
			check: "rollback", reason: "speaks 3.7.0 already"},
		{name: "data too new", view: world(3, speaking("3.6.0", "3.7.0")), to: "3.6.16", check: "rollback",
			reason: "format of 3.7.0"},
		{name: "nobody says", view: world(3, speaking("", "")), to: "3.6.16", check: "rollback", reason: "not known"},
		{name: "no version", view: world(3), to: "old", check: "version", reason: "parse"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			expect(t, New().CheckRollback(c.view, c.to), c.check, c.reason)
		})
	}
}
