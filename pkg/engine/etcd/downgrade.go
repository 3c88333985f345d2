package etcd

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

const downgradeDocs = "https://etcd.io/docs/v3.6/downgrades/"

// CheckDowngrade implements engine.Rules. etcd goes down by exactly one minor,
// all members from one version.
func (e *Engine) CheckDowngrade(v engine.View, spec v1alpha1.DatabaseClusterSpec, target string) error {
	to, err := parseVersion(target)
	if err != nil {
		return unknownVersion("write it as 3.5 or 3.5.35", "%q is no version of etcd", target)
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
	if v.Downgrade != "" && !to.line().speaks(v.Downgrade) {
		return refuse("downgrade-pending", "take that one back: "+command("connect", v)+" -- downgrade cancel",
			"a downgrade to %s was announced to the cluster already", v.Downgrade)
	}
	if err := checkSteps(v, to, checkStepDown); err != nil {
		return err
	}
	if spec.Image == "" {
		if _, err := e.Catalog().Resolve(target); err != nil {
			return err
		}
	}
	return lint(spec.Config, to)
}

// checkStepDown judges one member's step.
func checkStepDown(v engine.View, m engine.Member, from, to version) error {
	downTo := func(s string) string { return command("downgrade", v) + " --version " + s }
	switch {
	case from.less(to):
		return refuse("upgrade", command("upgrade", v)+" --version "+to.String(),
			"member %s runs %s, which is older than %s; a downgrade never goes up", m.Name, from, to)
	case from.line().less(schemaLine):
		return refuse("downgrade", "the way back is a backup made by the older version: kubectl dbop restore",
			"member %s runs %s, and etcd goes down only from %s on (%s)", m.Name, from, schemaLine, downgradeDocs)
	case from.line() == to.line():
		return refuse("same-series", "choose a version of the series before "+from.line().String(),
			"member %s runs %s and %s is of the same series; a downgrade is a step to the series before", m.Name, from, to)
	case to.line().next() != from.line():
		var way []string
		for l := from.line(); to.line().less(l); l = l.previous() {
			way = append(way, downTo(l.previous().String()))
		}
		return refuse("skipped-minor", strings.Join(way, ", then "),
			"member %s runs %s; etcd goes down one minor at a time and %s is further (%s)", m.Name, from, to, downgradeDocs)
	}
	s, ok := stepFrom(to.line())
	if !ok {
		return refuse("version", command("status", v), "the step from %s to %s is not known", from.line(), to.line())
	}
	if from.less(s.target.at) {
		return refuse("version-floor", command("upgrade", v)+" --version "+from.line().String(),
			"member %s runs %s and must run %s or newer before it changes its series: %s (%s)", m.Name, from, s.target.at, s.target.reason, s.target.link)
	}
	if to.less(s.source.at) {
		return refuse("version-floor", downTo(to.line().String()),
			"%s is older than %s, and without it there is no way up again: %s (%s)", to, s.source.at, s.source.reason, s.source.link)
	}
	if v.Downgrade != "" {
		return nil
	}
	return finished(m, from.line())
}

// CheckLowered implements engine.Rules. A binary of the older series starts
// only where the cluster speaks it, and can't read storage of the newer one.
func (*Engine) CheckLowered(v engine.View, target string) error {
	return checkVoters(v, "downgrade", target, func(m engine.Member, to version) error {
		if err := speaks(m, to); err != nil {
			return err
		}
		if has, err := parseVersion(m.Version); err == nil && has.line().less(schemaLine) {
			return nil
		}
		return stores(m, to)
	})
}
