package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// CheckUpgrade implements engine.Rules. It holds before the first member and
// again before each next one, when some run target already.
func (*Engine) CheckUpgrade(v engine.View, spec v1alpha1.DatabaseClusterSpec, target string) error {
	to, err := supported(target)
	if err != nil {
		return err
	}
	if err := whole(v); err != nil {
		return err
	}
	if err := settled(v); err != nil {
		return err
	}
	for _, voter := range v.Voters() {
		if err := health(v, voter.Name); err != nil {
			return refuse("members-healthy", command("status", v), "%v; every member must be healthy before one restarts", err)
		}
	}
	if err := stable(v, "an upgrade would never end"); err != nil {
		return err
	}
	if err := checkSteps(v, to, checkStepUp); err != nil {
		return err
	}
	return lint(spec.Config, to)
}

// stable refuses while a downgrade is under way.
func stable(v engine.View, consequence string) error {
	if v.Downgrade == "" {
		return nil
	}
	return refuse("downgrade-pending", fmt.Sprintf("finish it: %s --version %s; or take it back: %s -- downgrade cancel", command("downgrade", v), minorOf(v.Downgrade), command("connect", v)),
		"a downgrade to %s is under way, and until it is over %s", v.Downgrade, consequence)
}

func minorOf(reported string) string {
	v, err := parseVersion(reported)
	if err != nil {
		return reported
	}
	return v.line().String()
}

// checkSteps lets step judge what every voter is to do, and refuses unless they
// all do the same. Members that run the target already have done it.
func checkSteps(v engine.View, to version, step func(v engine.View, m engine.Member, from, to version) error) error {
	var first engine.Member
	var from version
	for _, voter := range v.Voters() {
		m := v.Member(voter.Name)
		has, err := parseVersion(m.Version)
		if err != nil {
			return refuse("version", command("status", v), "member %s does not say its version: %v", m.Name, err)
		}
		if has == to {
			continue
		}
		if err := step(v, m, has, to); err != nil {
			return err
		}
		if first.Name != "" && has != from {
			return refuse("mixed-versions", fmt.Sprintf("%s --version %s", command("upgrade", v), later(has, from)),
				"member %s runs %s and member %s runs %s; bring them to one version first", first.Name, from, m.Name, has)
		}
		first, from = m, has
	}
	return nil
}

func later(a, b version) version {
	if a.less(b) {
		return b
	}
	return a
}

// checkStepUp judges one member's step.
func checkStepUp(v engine.View, m engine.Member, from, to version) error {
	upgradeTo := func(s string) string { return command("upgrade", v) + " --version " + s }
	switch {
	case to.less(from):
		return refuse("downgrade", "choose "+from.String()+" or newer",
			"member %s runs %s, which is newer than %s; an upgrade never goes back", m.Name, from, to)
	case to.line() == from.line():
		return nil
	case to.line() != from.line().next():
		return refuse("skipped-minor", upgradeTo(from.line().next().String()),
			"member %s runs %s; etcd upgrades one minor at a time and %s is further (https://etcd.io/docs/v3.6/upgrades/)", m.Name, from, to)
	}
	s, ok := stepFrom(from.line())
	if !ok {
		return refuse("version", command("status", v), "the step from %s to %s is not known", from.line(), to.line())
	}
	if from.less(s.source.at) {
		return refuse("version-floor", upgradeTo(from.line().String()),
			"member %s runs %s and must run %s or newer before %s: %s (%s)", m.Name, from, s.source.at, to.line(), s.source.reason, s.source.link)
	}
	if to.less(s.target.at) {
		return refuse("version-floor", upgradeTo(to.line().String()),
			"%s is older than %s: %s (%s)", to, s.target.at, s.target.reason, s.target.link)
	}
	return finished(m, from.line())
}

// finished asks to wait while the step before is incomplete: members run the
// series, but the cluster still speaks, or the data still has, the older one.
// The leader raises both by itself within seconds, of a new cluster too.
func finished(m engine.Member, l line) error {
	if m.Protocol != "" && !l.speaks(m.Protocol) {
		return fmt.Errorf("member %s runs %s and the cluster still speaks %s; the earlier step is not complete: %w", m.Name, m.Version, m.Protocol, engine.ErrNotReady)
	}
	if m.Schema != "" && !l.speaks(m.Schema) {
		return fmt.Errorf("member %s runs %s and its data still has the format of %s; the earlier step is not complete: %w", m.Name, m.Version, m.Schema, engine.ErrNotReady)
	}
	return nil
}
