package planner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
)

// Diff makes, of the difference between what is wanted and what was accepted,
// the next operation, the very one that a command would ask for; nil if
// there is none. One difference after another: room before members, users last.
func Diff(want v1alpha1.DatabaseClusterSpec, c *v1alpha1.DatabaseCluster) (*v1alpha1.OperationSpec, error) {
	have := c.Spec
	if err := fixed(want, c); err != nil {
		return nil, err
	}
	o := &v1alpha1.OperationSpec{Cluster: c.Name, RequestedBy: DesiredBy}
	waive := func(names ...string) {
		o.Waive = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(want.Waive, n) })
	}
	change := settingsChange(v1alpha1.SettingsOf(&have), v1alpha1.SettingsOf(&want))
	if want.HelperImage != have.HelperImage {
		if change == nil {
			change = &v1alpha1.SettingsChange{}
		}
		change.HelperImage = &want.HelperImage
	}
	user := userDifference(want.Auth.Users, have.Auth.Users)
	switch {
	case want.Stopped != have.Stopped:
		o.Verb = v1alpha1.VerbStart
		if want.Stopped {
			o.Verb = v1alpha1.VerbStop
		}
	case change != nil:
		o.Verb, o.Change = v1alpha1.VerbConfigure, change
		if change.Size != nil || len(change.Requests)+len(change.Limits) > 0 {
			o.Verb = v1alpha1.VerbResize
		}
		waive("downtime", "size")
	case want.Version != have.Version:
		o.Verb, o.Version, o.Image = v1alpha1.VerbUpgrade, want.Version, want.Image
		if older(want.Version, have.Version) {
			o.Verb = v1alpha1.VerbDowngrade
		}
		waive("backup", "downtime", ops.WaiverWayBack)
		return o, backups.Keep(o, want)
	case want.Members != have.Members:
		o.Verb, o.Members = v1alpha1.VerbScale, want.Members
		waive("size")
	case want.Auth.Enabled != have.Auth.Enabled:
		o.Verb = v1alpha1.VerbDisableAuth
		if want.Auth.Enabled {
			o.Verb = v1alpha1.VerbEnableAuth
		}
	case !sameSchedule(want.Backup, have.Backup):
		o.Verb, o.Policy = v1alpha1.VerbSchedule, new(want.Backup)
	case user != nil:
		o.Verb, o.User = v1alpha1.VerbDeleteUser, user
		if slices.Contains(want.Auth.Users, *user) {
			o.Verb = v1alpha1.VerbCreateUser
		}
	default:
		return nil, nil
	}
	return o, nil
}

// fixed refuses what no operation changes. The API server refuses most of it
// itself; a cluster that was adopted never met its rules.
func fixed(want v1alpha1.DatabaseClusterSpec, c *v1alpha1.DatabaseCluster) error {
	have := c.Spec
	refuse := func(field, reason string) error {
		return &engine.Refusal{Check: field, Reason: fmt.Sprintf("spec.%s of %s can't change: %s", field, c.Name, reason),
			Hint: "put spec." + field + " back to what it was"}
	}
	switch {
	case want.Engine != have.Engine:
		return refuse("engine", "it runs "+have.Engine)
	case want.TLS.Disabled != have.TLS.Disabled:
		return refuse("tls", "how a cluster is secured is settled when it is created")
	// the API server refuses an edit; a restore in place changes the record alone
	case want.RestoreFrom != nil && have.RestoreFrom == nil:
		return refuse("restoreFrom", "a cluster is restored when it is created")
	case !equality.Semantic.DeepEqual(want.Source, have.Source):
		return refuse("source", "what a cluster is a copy of is settled when it is created")
	case !equality.Semantic.DeepEqual(want.InitialSQL, have.InitialSQL):
		return refuse("initialSQL", "SQL is carried out when a cluster is created; later, connect")
	case !equality.Semantic.DeepEqual(want.Storage.ClassName, have.Storage.ClassName):
		return refuse("storage.className", "volumes can't move to another class")
	case want.Image != have.Image && want.Version == have.Version:
		return refuse("image", "another image comes with another version")
	}
	return nil
}

// settingsChange is what leads from one to the other; nil if they are equal.
func settingsChange(from, to *v1alpha1.Settings) *v1alpha1.SettingsChange {
	c := &v1alpha1.SettingsChange{Requests: listChange(from.Resources.Requests, to.Resources.Requests),
		Limits: listChange(from.Resources.Limits, to.Resources.Limits)}
	for _, name := range slices.Sorted(maps.Keys(to.Config)) {
		if value, ok := from.Config[name]; !ok || value != to.Config[name] {
			if c.Set == nil {
				c.Set = map[string]string{}
			}
			c.Set[name] = to.Config[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(from.Config)) {
		if _, ok := to.Config[name]; !ok {
			c.Unset = append(c.Unset, name)
		}
	}
	if direct := to.Routing == v1alpha1.RoutingDirect; direct != (from.Routing == v1alpha1.RoutingDirect) {
		c.Routing = cmp.Or(to.Routing, v1alpha1.RoutingProxied)
	}
	if from.RedirectTo != to.RedirectTo {
		c.RedirectTo = new(to.RedirectTo)
	}
	if from.Size.Cmp(to.Size) != 0 {
		size := to.Size.DeepCopy()
		c.Size = &size
	}
	if equality.Semantic.DeepEqual(c, &v1alpha1.SettingsChange{}) {
		return nil
	}
	return c
}

// listChange names what differs; zero takes an amount away.
func listChange(from, to corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range to {
		if old, ok := from[name]; !ok || old.Cmp(q) != 0 {
			out[name] = q.DeepCopy()
		}
	}
	for name, old := range from {
		if _, ok := to[name]; !ok {
			old.Set(0)
			out[name] = old
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// userDifference is the first user of whom something is to be done. One whose
// rights changed is deleted first and made again after.
func userDifference(want, have []v1alpha1.DatabaseUser) *v1alpha1.DatabaseUser {
	for _, u := range have {
		if !slices.Contains(want, u) {
			return &u
		}
	}
	for _, u := range want {
		if !slices.Contains(have, u) {
			return &u
		}
	}
	return nil
}

// sameSchedule reports whether nothing has to be made or removed to get from
// one policy to the other: where none asks for backups, only their place counts.
func sameSchedule(want, have v1alpha1.BackupPolicy) bool {
	return want == have || want.Schedule == "" && have.Schedule == ""
}

// older reports whether version a comes before b; false where they can't be compared.
func older(a, b string) bool {
	va, err := version.ParseGeneric(a)
	if err != nil {
		return false
	}
	vb, err := version.ParseGeneric(b)
	return err == nil && va.LessThan(vb)
}

// SyncSettings copies what is wanted and asks for no operation: it counts from the
// next operation on. Agents that run come from the image of this tool, and get
// another by an operation. It reports whether anything changed.
func SyncSettings(want v1alpha1.DatabaseClusterSpec, c *v1alpha1.DatabaseCluster, agents bool) bool {
	before := c.Spec.DeepCopy()
	correct(want, c)
	c.Spec.Registry, c.Spec.AntiAffinity, c.Spec.Successor = want.Registry, want.AntiAffinity, want.Successor
	if !agents || ops.Unformed(c) {
		c.Spec.HelperImage = want.HelperImage
	}
	c.Spec.TLS.CASecret, c.Spec.TLS.Issuer = want.TLS.CASecret, want.TLS.Issuer.DeepCopy()
	if c.Spec.Paused != want.Paused {
		c.Status.Pause = nil // by an edit, which names nobody
	}
	c.Spec.Paused, c.Spec.DeletionPolicy, c.Spec.Waive = want.Paused, want.DeletionPolicy, slices.Clone(want.Waive)
	if sameSchedule(want.Backup, c.Spec.Backup) {
		c.Spec.Backup = want.Backup
	}
	return !equality.Semantic.DeepEqual(before, &c.Spec)
}

// Withdrawn reports whether a person does not want any more what an operation
// in flight is about, and it is to be stepped back: they put back what was
// before, or changed their mind while it could not go on.
func Withdrawn(want v1alpha1.DatabaseClusterSpec, op *v1alpha1.Operation) bool {
	if op.Status.Phase == v1alpha1.PhaseCancelling || Verbs().Cancellable(op) != nil || !asks(want, op, op.Status.Phase) {
		return false
	}
	return op.Status.Phase == v1alpha1.PhasePaused || !asks(want, op, v1alpha1.PhaseCancelling)
}

// asks reports whether the operation, in that phase, would make of the wanted
// state something else.
func asks(spec v1alpha1.DatabaseClusterSpec, op *v1alpha1.Operation, phase v1alpha1.Phase) bool {
	o := op.DeepCopy()
	o.Status.Phase = phase
	o.Spec.InPlace = false // what it asks for counts, not from when on the cluster wants it
	return ApplyTo(&v1alpha1.DatabaseCluster{Spec: *spec.DeepCopy()}, o)
}

// DesiredBy is who asks for what follows from a custom resource.
const DesiredBy = ops.OperatorPrefix + "custom resource"
