package etcd

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func pending(target string) func(*engine.View) {
	return func(v *engine.View) { v.Downgrade = target }
}

func TestCheckDowngrade(t *testing.T) {
	t.Parallel()
	alarm := func(m *engine.Member) { m.Alarms = []string{"NOSPACE"} }
	for _, c := range []struct {
		name          string
		view          engine.View
		config        map[string]string
		image         string
		target        string
		check, reason string
		hint          string
	}{
		{name: "one minor down", view: world(3), target: "3.5.35"},
		{name: "from 3.7", view: world(3, running("3.7.3", 1, 2, 3), speaking("3.7.0", "3.7.0")), target: "3.6.16"},
		{name: "one member", view: world(1), target: "3.5.35"},
		{name: "announced", view: world(3, speaking("3.5.0", "3.6.0"), pending("3.5.0")), target: "3.5.35"},
		{name: "in the middle", view: world(3, speaking("3.5.0", "3.5.0"), pending("3.5.0"), running("3.5.35", 2)),
			target: "3.5.35"},
		{name: "announced to another version", view: world(3, running("3.7.3", 1, 2, 3), speaking("3.6.0", "3.6.0"),
			pending("3.6.0")), target: "3.5.35",
			check: "downgrade-pending", reason: "to 3.6.0 was announced", hint: "cancel"},
		{name: "two minors", view: world(3, running("3.7.3", 1, 2, 3), speaking("3.7.0", "3.7.0")), target: "3.5.35",
			check: "skipped-minor", reason: "one minor at a time",
			hint: "kubectl dbop downgrade db --version 3.6, then kubectl dbop downgrade db --version 3.5"},
		{name: "up", view: world(3), target: "3.7.3", check: "upgrade", reason: "never goes up",
			hint: "kubectl dbop upgrade db --version 3.7.3"},
		{name: "within a series", view: world(3), target: "3.6.11", check: "same-series", reason: "same series",
			hint: "before 3.6"},
		{name: "already there", view: world(3), target: "3.6.16"},
		{name: "from 3.5", view: world(3, running("3.5.35", 1, 2, 3), speaking("3.5.0", "")), target: "3.4",
			check: "downgrade", reason: "only from 3.6 on", hint: "kubectl dbop restore"},
		{name: "within 3.5", view: world(3, running("3.5.35", 1, 2, 3), speaking("3.5.0", "")), target: "3.5.33",
			check: "downgrade", reason: "only from 3.6 on"},
		{name: "not in the catalog", view: world(3), target: "3.5.999", check: "version", reason: "not known"},
		{name: "not in the catalog, with an image", view: world(3), image: "mine", target: "3.5.999"},
		{name: "target below the floor", view: world(3), target: "3.5.21", check: "version-floor",
			reason: "no way up again",
			hint:   "--version 3.5"},
		{name: "source below the floor", view: world(3, running("3.6.4", 1, 2, 3)), target: "3.5.35",
			check:  "version-floor",
			reason: "must run 3.6.5", hint: "kubectl dbop upgrade db --version 3.6"},
		{name: "mixed", view: world(3, running("3.6.14", 2)), target: "3.5.35", check: "mixed-versions",
			reason: "bring them to one version"},
		{name: "an upgrade is not over", view: world(3, speaking("3.5.0", "3.5.0")), target: "3.5.35", check: notYet,
			reason: "still speaks 3.5.0"},
		{name: "a member is down", view: world(3, down(3)), target: "3.5.35", check: "members-healthy", reason: "db-3"},
		{name: "an alarm", view: world(3, member(2, alarm)), target: "3.5.35", check: "members-healthy", reason: "NOSPACE"},
		{name: "a learner", view: world(3, learner(3)), target: "3.5.35", check: "learner-open", reason: "db-3"},
		{name: "no quorum", view: world(3, noQuorum), target: "3.5.35", check: "quorum", reason: "no quorum"},
		{name: "split", view: world(3, split), target: "3.5.35", check: "split", reason: "different clusters"},
		{name: "an option that 3.5 does not know", view: world(3), target: "3.5.35",
			config: map[string]string{"compaction-batch-limit": "10"},
			check:  "config", reason: "exists from etcd 3.6 on"},
		{name: "unknown", view: world(3), target: "banana", check: "version", reason: "banana"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := New().CheckDowngrade(c.view, v1alpha1.DatabaseClusterSpec{Config: c.config, Image: c.image}, c.target)
			expect(t, err, c.check, c.reason)
			if !strings.Contains(hint(err), c.hint) {
				t.Errorf("hint %q, want %q", hint(err), c.hint)
			}
		})
	}
}

func TestCheckLowered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		view   engine.View
		target string
		reason string
	}{
		{name: "lowered", view: world(3, speaking("3.5.0", "3.5.0")), target: "3.5.35"},
		{name: "some moved, which don't tell their storage",
			view: world(3, speaking("3.5.0", "3.5.0"), running("3.5.35", 2),
				member(2, func(m *engine.Member) { m.Schema = "" })), target: "3.5.35"},
		{name: "from 3.7", view: world(3, running("3.7.3", 1, 3), speaking("3.6.0", "3.6.0")), target: "3.6.16"},
		{name: "nothing yet", view: world(3), target: "3.5.35", reason: "speaks cluster version 3.6.0"},
		{name: "storage lags", view: world(3, speaking("3.5.0", "3.5.0"),
			member(3,
				func(m *engine.Member) { m.Schema = "3.6.0" })), target: "3.5.35", reason: "db-3 has storage version 3.6.0"},
		{name: "storage unknown", view: world(3, speaking("3.5.0", "3.5.0"),
			member(3, func(m *engine.Member) { m.Schema = "" })), target: "3.5.35", reason: "storage version unknown"},
		{name: "one is down", view: world(3, speaking("3.5.0", "3.5.0"), down(2)), target: "3.5.35",
			reason: "db-2 was not reached"},
		{name: "no quorum", view: world(3, noQuorum), target: "3.5.35", reason: "no quorum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := New().CheckLowered(c.view, c.target)
			if (err == nil) != (c.reason == "") || (err != nil && !strings.Contains(err.Error(), c.reason)) {
				t.Errorf("got %v, want %q", err, c.reason)
			}
		})
	}
}

func TestNobodyJoinsOrClimbsMeanwhile(t *testing.T) {
	t.Parallel()
	v := world(3, running("3.5.35", 1, 2, 3), speaking("3.5.0", ""), pending("3.5.0"))
	expect(t, New().CheckAdd(v), "downgrade-pending", "nobody join")
	err := New().CheckUpgrade(v, v1alpha1.DatabaseClusterSpec{}, "3.6.16")
	expect(t, err, "downgrade-pending", "never end")
	if want := "kubectl dbop downgrade db --version 3.5"; !strings.Contains(hint(err), want) {
		t.Errorf("hint %q, want %q", hint(err), want)
	}
}
