package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// CheckUpgrade implements engine.Rules. It holds before the first member and
// again before each next one, when some run target already.
func (*Engine) CheckUpgrade(v engine.View, spec v1alpha1.DatabaseClusterSpec, target string) error {
	to, err := versions.Supported(target)
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
			return refusal.New("members-healthy", refusal.Command("status", v),
				"%v; every member must be healthy before one restarts", err)
		}
	}
	if err := stable(v, "an upgrade would never end"); err != nil {
		return err
	}
	if err := checkSteps(v, to, checkStepUp); err != nil {
		return err
	}
	return flags.Lint(spec.Config, to)
}

// stable refuses while a downgrade is under way.
func stable(v engine.View, consequence string) error {
	if v.Downgrade == "" {
		return nil
	}
	return refusal.New("downgrade-pending", fmt.Sprintf(
		"finish it: %s --version %s; or take it back: %s -- downgrade cancel", refusal.Command("downgrade", v),
		minorOf(v.Downgrade), refusal.Command("connect", v)),
		"a downgrade to %s is under way, and until it is over %s", v.Downgrade, consequence)
}

func minorOf(reported string) string {
	v, err := versions.Parse(reported)
	if err != nil {
		return reported
	}
	return v.Line().String()
}

// checkSteps lets step judge what every voter is to do, and refuses unless they
// all do the same. Members that run the target already have done it.
func checkSteps(v engine.View, to versions.Version, step func(v engine.View, m engine.Member, from,
	to versions.Version) error) error {
	var first engine.Member
	var from versions.Version
	for _, voter := range v.Voters() {
		m := v.Member(voter.Name)
		has, err := versions.Parse(m.Version)
		if err != nil {
			return refusal.New("version", refusal.Command("status", v), "member %s does not say its version: %v", m.Name, err)
		}
		if has == to {
			continue
		}
		if err := step(v, m, has, to); err != nil {
			return err
		}
		if first.Name != "" && has != from {
			return refusal.New("mixed-versions",
				fmt.Sprintf("%s --version %s", refusal.Command("upgrade", v), later(has, from)),
				"member %s runs %s and member %s runs %s; bring them to one version first", first.Name, from, m.Name, has)
		}
		first, from = m, has
	}
	return nil
}

func later(a, b versions.Version) versions.Version {
	if a.Less(b) {
		return b
	}
	return a
}

// checkStepUp judges one member's step.
func checkStepUp(v engine.View, m engine.Member, from, to versions.Version) error {
	upgradeTo := func(s string) string { return refusal.Command("upgrade", v) + " --version " + s }
	switch {
	case to.Less(from):
		return refusal.New("downgrade", "choose "+from.String()+" or newer",
			"member %s runs %s, which is newer than %s; an upgrade never goes back", m.Name, from, to)
	case to.Line() == from.Line():
		return nil
	case to.Line() != from.Line().Next():
		return refusal.New("skipped-minor", upgradeTo(from.Line().Next().String()),
			"member %s runs %s; etcd upgrades one minor at a time and %s is further (https://etcd.io/docs/v3.6/upgrades/)",
			m.Name, from, to)
	}
	s, ok := versions.StepFrom(from.Line())
	if !ok {
		return refusal.New("version", refusal.Command("status", v), "the step from %s to %s is not known", from.Line(),
			to.Line())
	}
	if from.Less(s.Source.At) {
		return refusal.New("version-floor", upgradeTo(from.Line().String()),
			"member %s runs %s and must run %s or newer before %s: %s (%s)", m.Name, from, s.Source.At, to.Line(),
			s.Source.Reason, s.Source.Link)
	}
	if to.Less(s.Target.At) {
		return refusal.New("version-floor", upgradeTo(to.Line().String()),
			"%s is older than %s: %s (%s)", to, s.Target.At, s.Target.Reason, s.Target.Link)
	}
	return finished(m, from.Line())
}

// finished asks to wait while the step before is incomplete: members run the
// series, but the cluster still speaks, or the data still has, the older one.
// The leader raises both by itself within seconds, of a new cluster too.
func finished(m engine.Member, l versions.Line) error {
	if m.Protocol != "" && !l.Speaks(m.Protocol) {
		return fmt.Errorf("member %s runs %s and the cluster still speaks %s; the earlier step is not complete: %w", m.Name,
			m.Version, m.Protocol, engine.ErrNotReady)
	}
	if m.Schema != "" && !l.Speaks(m.Schema) {
		return fmt.Errorf("member %s runs %s and its data still has the format of %s; the earlier step is not complete: %w",
			m.Name, m.Version, m.Schema, engine.ErrNotReady)
	}
	return nil
}
