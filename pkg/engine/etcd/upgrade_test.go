package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestCheckUpgrade(t *testing.T) {
	t.Parallel()
	on35 := func(version string) func(*engine.View) {
		return func(v *engine.View) { running(version, 1, 2, 3)(v); speaking("3.5.0", "")(v) }
	}
	for _, c := range []struct {
		name          string
		view          engine.View
		target        string
		config        map[string]string
		check, reason string
	}{
		{name: "patch", view: world(3, running("3.6.14", 1, 2, 3)), target: "3.6.16"},
		{name: "minor", view: world(3), target: "3.7.3"},
		{name: "done", view: world(3), target: "3.6.16"},
		{name: "half way", view: world(3, running("3.7.3", 2, 3)), target: "3.7.3"},
		{name: "from 3.5", view: world(3, on35("3.5.35")), target: "3.6.16"},
		{name: "below the source's floor", view: world(3, on35("3.5.31")), target: "3.6.16", check: "version-floor",
			reason: "issues/19557"},
		{name: "one member below the floor", view: world(3, on35("3.6.16"), running("3.5.9", 3)), target: "3.6.16",
			check: "version-floor", reason: "member db-3 runs 3.5.9"},
		{name: "below the target's floor", view: world(3, on35("3.5.35")), target: "3.6.4", check: "version-floor",
			reason: "3.6.4 is older than 3.6.5"},
		{name: "3.6 below the floor", view: world(3, running("3.6.10", 1, 2, 3)), target: "3.7.3", check: "version-floor",
			reason: "3.6.11"},
		{name: "skip", view: world(3, on35("3.5.35")), target: "3.7.3", check: "skipped-minor",
			reason: "one minor at a time"},
		{name: "down a minor", view: world(3), target: "3.5.35", check: "downgrade", reason: "newer"},
		{name: "down a patch", view: world(3), target: "3.6.14", check: "downgrade", reason: "newer"},
		{name: "three versions", view: world(3, running("3.6.14", 1), running("3.6.15", 2)), target: "3.6.16",
			check: "mixed-versions", reason: "3.6.14"},
		{name: "unknown series", view: world(3), target: "3.9.0", check: "version", reason: "3.9"},
		{name: "no version", view: world(3), target: "new", check: "version", reason: "parse"},
		{name: "cluster version behind", view: world(3, speaking("3.5.0", "3.6.0")), target: "3.7.3", check: notYet,
			reason: "speaks 3.5.0"},
		{name: "a downgrade is under way", view: world(3, speaking("3.5.0", "3.6.0"), pending("3.5.0")), target: "3.7.3",
			check: "downgrade-pending", reason: "to 3.5.0 is under way"},
		{name: "storage behind", view: world(3, speaking("3.6.0", "3.5.0")), target: "3.7.3", check: notYet,
			reason: "format of 3.5.0"},
		{name: "one down", view: world(3, down(2)), target: "3.7.3", check: "members-healthy", reason: "db-2"},
		{name: "alarm", view: world(3, member(3, func(m *engine.Member) { m.Alarms = []string{"CORRUPT"} })),
			target: "3.7.3",
			check:  "members-healthy", reason: "CORRUPT"},
		{name: "learner", view: world(3, learner(3)), target: "3.7.3", check: "learner-open", reason: "db-3"},
		{name: "no quorum", view: world(3, noQuorum), target: "3.7.3", check: "quorum", reason: "quorum"},
		{name: "option gone", view: world(3), target: "3.7.3",
			config: map[string]string{"experimental-watch-progress-notify-interval": "5m"},
			check:  "config", reason: "removed in etcd 3.7"},
		{name: "option kept", view: world(3), target: "3.7.3",
			config: map[string]string{"watch-progress-notify-interval": "5m"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			expect(t, New().CheckUpgrade(c.view, v1alpha1.DatabaseClusterSpec{Config: c.config}, c.target), c.check, c.reason)
		})
	}
}
