package simulation

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// pick draws one of several.
func pick[T any](p *person, of []T) T { return of[p.rng.IntN(len(of))] }

// next draws a command that fits what is there, more or less.
func (p *person) next() command {
	names := p.world.recordedNames()
	if len(names) == 0 || (len(names) < 2 && p.rng.Float64() < 0.05) {
		return p.create(pick(p, []string{"a", "b"}), pick(p, p.versions()), pick(p, p.sizes()), p.rng.Float64() < 0.25 &&
			!p.world.hasAgents())
	}
	name := pick(p, names)
	unlock := p.world.lock()
	c := p.world.records.clusters[name].DeepCopy()
	members, rotating := p.world.membersOf(name), p.world.shared(name).trust.next != 0
	backups := p.world.backupIDs(c.Spec.Version)
	locked := map[string]bool{}
	for id, b := range p.world.backups {
		locked[id] = b.access.on
	}
	unlock()
	spec := v1alpha1.OperationSpec{Cluster: name, Repository: "pvc:backups"}
	one := func(change func(*v1alpha1.OperationSpec)) command {
		return func() planner.Request {
			s := spec
			s.Backup = p.backupID()
			change(&s)
			return planner.Request{Operation: s}
		}
	}
	switch x := p.draw(); {
	case x > 46:
		return p.timing(c, one)
	case x > 44:
		return func() planner.Request { return p.clearing(name) }
	case x == 39:
		keep := int64(p.rng.IntN(100))
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Compaction = v1alpha1.VerbCompact, &v1alpha1.Compaction{Keep: keep}
		})
	case x == 40:
		return p.undo(name)
	case x == 32:
		return one(func(s *v1alpha1.OperationSpec) { s.Verb = v1alpha1.VerbDisableAuth })
	case x == 33:
		return one(func(s *v1alpha1.OperationSpec) { s.Verb = v1alpha1.VerbEnableAuth })
	case x == 34 || x == 35:
		drop := x == 35
		return one(func(s *v1alpha1.OperationSpec) { s.Verb, s.DropOld = v1alpha1.VerbRotateCredentials, drop })
	case x > 40:
		rotation := pick(p, []v1alpha1.Rotation{v1alpha1.RotateBegin, v1alpha1.RotateBegin, v1alpha1.RotateFinish,
			v1alpha1.RotateAbandon, v1alpha1.RotateAtOnce, v1alpha1.RotateLeaves})
		if rotating && p.rng.Float64() < 0.7 {
			rotation = pick(p, []v1alpha1.Rotation{v1alpha1.RotateFinish, v1alpha1.RotateAbandon})
		}
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Rotation, s.Waive = v1alpha1.VerbRotateCertificates, rotation, []string{"downtime"}
		})
	case x == 24:
		return one(func(s *v1alpha1.OperationSpec) { s.Verb = v1alpha1.VerbSwitchover })
	case x == 25:
		return one(func(s *v1alpha1.OperationSpec) { s.Verb, s.Waive = v1alpha1.VerbRestart, []string{"downtime"} })
	case x == 26:
		return one(func(s *v1alpha1.OperationSpec) { s.Verb = v1alpha1.VerbStop })
	case x == 27 || c.Spec.Stopped:
		return one(func(s *v1alpha1.OperationSpec) { s.Verb = v1alpha1.VerbStart })
	case x == 28 && len(members) > 0:
		member, force := pick(p, members), p.rng.Float64() < 0.3
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Member = v1alpha1.VerbReplaceMember, member
			if force {
				s.Waive = []string{"evidence"}
			}
		})
	case x == 29:
		options := p.options()
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Waive, s.Change = v1alpha1.VerbConfigure, []string{"downtime"}, options
		})
	case x == 30, x == 31:
		memory := p.memory()
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Waive, s.Change = v1alpha1.VerbResize, []string{"downtime"}, memory
		})
	case x > 35:
		version := p.older(c.Spec.Version)
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Version, s.Waive = v1alpha1.VerbDowngrade, version, []string{"downtime"}
		})
	case x > 19 && members != nil: // the step that makes sense
		version := p.newer(c.Spec.Version)
		skip := p.rng.Float64() < 0.3
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Version, s.Waive = v1alpha1.VerbUpgrade, version, []string{"downtime"}
			if skip {
				s.Waive = append(s.Waive, "backup")
			}
		})
	case x < 5:
		to := pick(p, []int32{1, 2, 3, 3, 4, 5, 5})
		if p.world.hasAgents() {
			to = pick(p, []int32{1, 2, 2, 2, 3, 3, 4})
		}
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Members, s.Waive = v1alpha1.VerbScale, to, []string{"size"}
		})
	case x < 7:
		return one(func(s *v1alpha1.OperationSpec) { s.Verb = v1alpha1.VerbAddMember })
	case x < 9 && len(members) > 0:
		member := pick(p, members)
		return one(func(s *v1alpha1.OperationSpec) { s.Verb, s.Member = v1alpha1.VerbRemoveMember, member })
	case x < 14:
		version := pick(p, p.versions())
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Version, s.Waive = v1alpha1.VerbUpgrade, version, []string{"downtime"}
		})
	case x < 16:
		verify := p.rng.Float64() < 0.5
		return one(func(s *v1alpha1.OperationSpec) { s.Verb, s.Verify = v1alpha1.VerbBackup, verify })
	case x < 18 && len(backups) > 0:
		from := pick(p, backups)
		if p.rng.Float64() < 0.5 {
			return one(func(s *v1alpha1.OperationSpec) {
				s.Verb, s.InPlace, s.Source = v1alpha1.VerbRestore, true,
					&v1alpha1.BackupSource{Repository: "pvc:backups", Backup: from, Auth: locked[from]}
			})
		}
		return p.restore(pick(p, []string{"r", "s"}), from, c.Spec.Version, pick(p, []int{1, 3}), locked[from])
	case x == 19:
		purge, waive := p.rng.Float64() < 0.5, p.rng.Float64() < 0.3
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Purge = v1alpha1.VerbDelete, purge
			if waive {
				s.Waive = []string{"backup"}
			}
		})
	default:
		return one(func(s *v1alpha1.OperationSpec) { s.Verb = v1alpha1.VerbAddMember })
	}
}

// draw chooses what to ask for. A database with agents has no logins, no
// history and no alarms, and what its members hold is asked for more often.
func (p *person) draw() int {
	if !p.world.hasAgents() {
		return p.rng.IntN(51)
	}
	return pick(p, []int{0, 1, 2, 3, 5, 7, 8, 9, 14, 16, 17, 19, 20, 24, 25, 25, 25, 26, 28, 28, 29, 29, 30, 37, 40, 41,
		50})
}

// sizes are those that clusters begin with.
func (p *person) sizes() []int {
	if p.world.hasAgents() {
		return []int{1, 2, 2, 3, 3, 4}
	}
	return []int{1, 3, 3, 3, 5, 2}
}

// undo makes the command that takes the last operation back. The person sees
// at the records of now each time that it is typed.
func (p *person) undo(name string) command {
	return func() planner.Request {
		defer p.world.lock()()
		nothing := planner.Request{Operation: v1alpha1.OperationSpec{Cluster: name, Verb: v1alpha1.VerbBackup,
			Repository: "pvc:backups", Backup: p.backupID()}}
		c := p.world.records.clusters[name]
		if c == nil {
			return nothing
		}
		u, err := planner.Undo(c, p.world.records.of(name))
		if err != nil || u.Of == nil {
			return nothing
		}
		u.Operation.Repository, u.Operation.Backup, u.Operation.Waive = "pvc:backups", p.backupID(),
			append(u.Operation.Waive, "downtime")
		p.world.tally["undo of "+string(u.Of.Spec.Verb)]++
		return planner.Request{Operation: u.Operation}
	}
}

// restore makes the command that restores a backup into a new cluster.
func (p *person) restore(name, from, version string, members int, locked bool) command {
	return func() planner.Request {
		c := p.cluster(name, version, members, 1)
		c.Spec.RestoreFrom, c.Spec.Auth.Enabled = &v1alpha1.RestoreSource{Repository: "pvc:backups", Backup: from}, locked
		return planner.Request{
			Operation: v1alpha1.OperationSpec{Cluster: name, Verb: v1alpha1.VerbRestore, Waive: []string{"size"},
				Source: &v1alpha1.BackupSource{Repository: "pvc:backups", Backup: from, Auth: locked}},
			Cluster: c,
		}
	}
}

// newer is a version that an upgrade may go to, if there is one.
func (p *person) newer(version string) string {
	var fit []string
	for _, v := range p.versions() {
		if order, _ := p.world.engine.CompareVersions(v, version); p.world.hasAgents() &&
			engine.SameSeries(p.world.engine, v, version) && order > 0 ||
			!p.world.hasAgents() && (minor(v) == minor(version)+1 || (minor(v) == minor(version) && v > version)) {
			fit = append(fit, v)
		}
	}
	if len(fit) == 0 {
		return version
	}
	return pick(p, fit)
}

// older is a version that a downgrade may go to, mostly.
func (p *person) older(version string) string {
	var fit []string
	for _, v := range p.versions() {
		if order, _ := p.world.engine.CompareVersions(v, version); p.world.hasAgents() &&
			engine.SameSeries(p.world.engine, v, version) && order < 0 ||
			!p.world.hasAgents() && minor(v) == minor(version)-1 {
			fit = append(fit, v)
		}
	}
	if len(fit) == 0 || p.rng.Float64() < 0.1 {
		return pick(p, p.versions())
	}
	return pick(p, fit)
}

// versions are those of the catalog.
func (p *person) versions() []string {
	var out []string
	for _, r := range p.world.engine.Catalog().Releases {
		out = append(out, r.Version)
	}
	return out
}

// recordedNames lists the clusters on record, sorted.
func (w *world) recordedNames() []string {
	defer w.lock()()
	var out []string
	for name := range w.records.clusters {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// named lists every cluster that has a record or an operation in flight, sorted.
func (w *world) named() []string {
	out := w.recordedNames()
	defer w.lock()()
	for _, name := range w.records.order {
		if o := w.records.operations[name]; o.Active() && !slices.Contains(out, o.Spec.Cluster) {
			out = append(out, o.Spec.Cluster)
		}
	}
	slices.Sort(out)
	return out
}

// membersOf lists the names under which a cluster has members, and one under which it has none.
func (w *world) membersOf(cluster string) []string {
	out := []string{v1alpha1.MemberName(cluster, 42)}
	for _, s := range w.slots {
		if s.cluster == cluster && s.workload != nil {
			out = append(out, s.name)
		}
	}
	return out
}

// backupIDs lists the backups that a version may load, sorted: the command
// line refuses others before it writes anything.
func (w *world) backupIDs(version string) []string {
	var out []string
	for id, b := range w.backups {
		if w.engine.CheckRestore(b.version, version) == nil {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
