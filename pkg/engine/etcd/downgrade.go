package etcd

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

const downgradeDocs = "https://etcd.io/docs/v3.6/downgrades/"

// CheckDowngrade implements engine.Rules. etcd goes down by exactly one minor,
// all members from one version.
func (e *Engine) CheckDowngrade(v engine.View, spec v1alpha1.DatabaseClusterSpec, target string) error {
	to, err := versions.Parse(target)
	if err != nil {
		return refusal.UnknownVersion("write it as 3.5 or 3.5.35", "%q is no version of etcd", target)
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
	if v.Downgrade != "" && !to.Line().Speaks(v.Downgrade) {
		return refusal.New("downgrade-pending", "take that one back: "+refusal.Command("connect", v)+" -- downgrade cancel",
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
	return flags.Lint(spec.Config, to)
}

// checkStepDown judges one member's step.
func checkStepDown(v engine.View, m engine.Member, from, to versions.Version) error {
	downTo := func(s string) string { return refusal.Command("downgrade", v) + " --version " + s }
	switch {
	case from.Less(to):
		return refusal.New("upgrade", refusal.Command("upgrade", v)+" --version "+to.String(),
			"member %s runs %s, which is older than %s; a downgrade never goes up", m.Name, from, to)
	case from.Line().Less(versions.SchemaLine):
		return refusal.New("downgrade", "the way back is a backup made by the older version: kubectl dbop restore",
			"member %s runs %s, and etcd goes down only from %s on (%s)", m.Name, from, versions.SchemaLine, downgradeDocs)
	case from.Line() == to.Line():
		return refusal.New("same-series", "choose a version of the series before "+from.Line().String(),
			"member %s runs %s and %s is of the same series; a downgrade is a step to the series before", m.Name, from, to)
	case to.Line().Next() != from.Line():
		var way []string
		for l := from.Line(); to.Line().Less(l); l = l.Previous() {
			way = append(way, downTo(l.Previous().String()))
		}
		return refusal.New("skipped-minor", strings.Join(way, ", then "),
			"member %s runs %s; etcd goes down one minor at a time and %s is further (%s)", m.Name, from, to, downgradeDocs)
	}
	s, ok := versions.StepFrom(to.Line())
	if !ok {
		return refusal.New("version", refusal.Command("status", v), "the step from %s to %s is not known", from.Line(),
			to.Line())
	}
	if from.Less(s.Target.At) {
		return refusal.New("version-floor", refusal.Command("upgrade", v)+" --version "+from.Line().String(),
			"member %s runs %s and must run %s or newer before it changes its series: %s (%s)", m.Name, from, s.Target.At,
			s.Target.Reason, s.Target.Link)
	}
	if to.Less(s.Source.At) {
		return refusal.New("version-floor", downTo(to.Line().String()),
			"%s is older than %s, and without it there is no way up again: %s (%s)", to, s.Source.At, s.Source.Reason,
			s.Source.Link)
	}
	if v.Downgrade != "" {
		return nil
	}
	return finished(m, from.Line())
}

// CheckLowered implements engine.Rules. A binary of the older series starts
// only where the cluster speaks it, and can't read storage of the newer one.
func (*Engine) CheckLowered(v engine.View, target string) error {
	return checkVoters(v, "downgrade", target, func(m engine.Member, to versions.Version) error {
		if err := speaks(m, to); err != nil {
			return err
		}
		if has, err := versions.Parse(m.Version); err == nil && has.Line().Less(versions.SchemaLine) {
			return nil
		}
		return stores(m, to)
	})
}
