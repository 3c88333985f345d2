package simulation

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// wish is one thing that a person wants of a cluster, in both ways to say so:
// as a command, and as an edit of the custom resource. What no edit can say is
// a command beside an operator too, and has no edit.
type wish struct {
	name    string
	command v1alpha1.OperationSpec
	edit    func(*v1alpha1.DatabaseClusterSpec)
	// doomed can't be done: it is refused, or comes to a halt and is taken back.
	doomed bool
}

// wished is the cluster that both ways begin with. None has two members: with
// each restart the other's vote is not enough, and nobody foresees who leads then.
func (p *person) wished(name string) v1alpha1.DatabaseClusterSpec {
	sizes := []int{1, 3, 3, 5}
	if p.world.hasAgents() {
		sizes = []int{1, 2, 3, 4} // a witness has the vote that a pair lacks
	}
	c := p.cluster(name, pick(p, p.versions()), pick(p, sizes), 0)
	c.Spec.Backup.Repository, c.Spec.Waive = "pvc:backups", []string{"downtime", "size"}
	return c.Spec
}

// wishes draws what a person wants of a cluster, one thing after the other.
// They follow from the number alone, and so are the same in every world. In the
// end the cluster runs: there is no last backup of one that does not.
func (p *person) wishes(name string, from v1alpha1.DatabaseClusterSpec, n int) []wish {
	spec := *from.DeepCopy()
	var out []wish
	for len(out) < n || spec.Stopped {
		w := p.wish(spec)
		w.command.Cluster = name
		w.command.Repository = spec.Backup.Repository
		if w.edit != nil && !w.doomed {
			w.edit(&spec)
		}
		out = append(out, w)
	}
	return out
}

// wish draws one thing that is different from what is.
func (p *person) wish(spec v1alpha1.DatabaseClusterSpec) wish {
	one := v1alpha1.OperationSpec{}
	if spec.Stopped {
		one.Verb = v1alpha1.VerbStart
		return wish{name: "start", command: one, edit: func(s *v1alpha1.DatabaseClusterSpec) { s.Stopped = false }}
	}
	settings := func(verb v1alpha1.Verb, c *v1alpha1.SettingsChange) wish {
		one.Verb, one.Change, one.Waive = verb, c, []string{"downtime"}
		after := v1alpha1.SettingsOf(&spec).With(c)
		w := wish{name: string(verb), command: one, edit: func(s *v1alpha1.DatabaseClusterSpec) { after.Apply(s) }}
		changed := &v1alpha1.DatabaseCluster{Spec: *spec.DeepCopy()}
		after.Apply(&changed.Spec)
		w.doomed = unfit(changed) != ""
		return w
	}
	version := func(verb v1alpha1.Verb, to string, doomed bool) wish {
		one.Verb, one.Version, one.Waive = verb, to, []string{"downtime"}
		return wish{name: fmt.Sprintf("%s to %s", verb, to), command: one,
			edit: func(s *v1alpha1.DatabaseClusterSpec) { s.Version = to }, doomed: doomed}
	}
	quantity := func(q string) *resource.Quantity { return new(resource.MustParse(q)) }
	for {
		switch x := p.rng.IntN(14); {
		case x < 3:
			sizes := []int32{1, 3, 3, 4, 5}
			if p.world.hasAgents() {
				sizes = []int32{1, 2, 2, 3, 4}
			}
			if to := pick(p, sizes); to != spec.Members {
				one.Verb, one.Members, one.Waive = v1alpha1.VerbScale, to, []string{"size"}
				return wish{name: fmt.Sprintf("scale to %d", to), command: one,
					edit: func(s *v1alpha1.DatabaseClusterSpec) { s.Members = to }}
			}
		case x < 5:
			if to := p.newer(spec.Version); to != spec.Version {
				return version(v1alpha1.VerbUpgrade, to, false)
			}
		case x == 5:
			for _, v := range p.versions() {
				order, _ := p.world.engine.CompareVersions(v, spec.Version)
				if p.world.hasAgents() && order > 0 && !engine.SameSeries(p.world.engine, v, spec.Version) ||
					!p.world.hasAgents() && minor(v) > minor(spec.Version)+1 {
					return version(v1alpha1.VerbUpgrade, v, true)
				}
			}
		case x == 6:
			if n := pick(p, []string{"5000", "20000"}); spec.Config["snapshot-count"] != n {
				return settings(v1alpha1.VerbConfigure, &v1alpha1.SettingsChange{Set: map[string]string{"snapshot-count": n}})
			}
			return settings(v1alpha1.VerbConfigure, &v1alpha1.SettingsChange{Unset: []string{"snapshot-count"}})
		case x == 7:
			if q := quantity(pick(p, []string{"10Gi", "12Gi"})); q.Cmp(spec.Storage.Size) > 0 {
				return settings(v1alpha1.VerbResize, &v1alpha1.SettingsChange{Size: q})
			}
		case x == 8:
			if q := quantity(pick(p, []string{tooSmall, "1Gi", "2Gi"})); spec.Resources.Limits.Memory().Cmp(*q) != 0 {
				return settings(v1alpha1.VerbResize,
					&v1alpha1.SettingsChange{Limits: corev1.ResourceList{corev1.ResourceMemory: *q}})
			}
		case x == 9:
			one.Verb = v1alpha1.VerbStop
			return wish{name: "stop", command: one, edit: func(s *v1alpha1.DatabaseClusterSpec) { s.Stopped = true }}
		case x == 10 && !p.world.hasAgents():
			on := !spec.Auth.Enabled
			one.Verb = v1alpha1.VerbDisableAuth
			if on {
				one.Verb = v1alpha1.VerbEnableAuth
			}
			return wish{name: string(one.Verb), command: one,
				edit: func(s *v1alpha1.DatabaseClusterSpec) { s.Auth.Enabled = on }}
		case x == 11:
			one.Verb, one.Waive = v1alpha1.VerbRestart, []string{"downtime"}
			return wish{name: "restart", command: one}
		case x == 12:
			if spec.Members > 1 {
				one.Verb = v1alpha1.VerbSwitchover
				return wish{name: "switchover", command: one}
			}
		case x == 13:
			one.Verb, one.Verify = v1alpha1.VerbBackup, p.rng.IntN(2) == 0
			return wish{name: "backup", command: one}
		}
	}
}

// twin is another person with the same mind.
func twin(w *world, seed uint64, careful bool) *person {
	return &person{world: w, rng: rand.New(rand.NewPCG(seed, 7)), decide: planner.Decide, careful: careful} //nolint:gosec // reproducible
}

var memberName = regexp.MustCompile(`\bdb-\d+`)

// told are the operations of a cluster, oldest first: what was asked for, how
// it ended, and the steps that were taken, if they are to be told. Members are
// called in the order in which the operation did them: which of them led, and so was last, is chance.
func (w *world) told(cluster string, steps bool) []string {
	defer w.lock()()
	var out []string
	for _, o := range slices.Backward(w.records.of(cluster)) {
		line := fmt.Sprintf("%s %s: members %d, version %q, %d settings", o.Spec.Verb, o.Status.Phase, o.Spec.Members,
			o.Spec.Version, settingsOf(o.Spec))
		if steps {
			line += "\n" + strings.Join(stepsOf(o), "\n")
		}
		out = append(out, line)
	}
	return out
}

// stepsOf are the steps of an operation. One that ran into a halt and is done
// again on the way back counts once.
func stepsOf(o v1alpha1.Operation) []string {
	var out []string
	names := map[string]string{}
	for _, e := range o.Status.Journal {
		action, members, _ := strings.Cut(e.Step, "/")
		if memberName.MatchString(members) && !strings.Contains(action, "backup") && action != string(ops.ActionHandOver) {
			action += " " + memberName.ReplaceAllStringFunc(members, func(m string) string {
				if names[m] == "" {
					names[m] = fmt.Sprintf("%c", 'A'+len(names))
				}
				return names[m]
			})
		}
		out = append(out, action)
	}
	return slices.Compact(out)
}

// settingsOf counts what an operation sets.
func settingsOf(o v1alpha1.OperationSpec) int {
	if o.Settings == nil {
		return 0
	}
	return len(o.Settings.Config) + len(o.Settings.Resources.Limits)
}

// is is a cluster as it is: what was wanted, and what has come of it.
func (w *world) stands(cluster string) string {
	defer w.lock()()
	c := w.records.clusters[cluster]
	if c == nil {
		return "it is gone"
	}
	lines := []string{fmt.Sprintf("wanted: members %d, version %s, stopped %v, auth %v, size %s, limits %v, config %v\n",
		c.Spec.Members, c.Spec.Version, c.Spec.Stopped, c.Spec.Auth.Enabled,
		c.Spec.Storage.Size.String(), c.Spec.Resources.Limits.Memory(), c.Spec.Config)}
	for _, g := range w.groups {
		if g.token == c.Status.Bootstrap.Token {
			lines = append(lines, fmt.Sprintf("group: voters %d of %d, speaks 3.%d, access %v with %d users\n", g.voters(),
				len(g.members), g.minor, g.access.on, len(g.access.passwords)))
		}
	}
	for _, s := range w.slots {
		if s.cluster == cluster && s.workload != nil && s.volume != nil {
			lines = append(lines, fmt.Sprintf("member: version %s, settings %s, volume %s, runs %v\n", s.workload.version,
				s.workload.settings, s.volume.size.String(), s.pod != nil && s.pod.process != nil))
		}
	}
	sh := w.shared(cluster)
	if sh.budget != nil {
		lines = append(lines, fmt.Sprintf("budget %d\n", *sh.budget))
	}
	return strings.Join(lines, "") + fmt.Sprintf("services %v, secrets %d", sh.services, len(sh.secrets))
}
