package planner

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// Request is what a person or a manifest asks for: the operation, and for
// create the cluster that is to be.
type Request struct {
	Operation v1alpha1.OperationSpec
	// Cluster is the wanted cluster of create and of restore into a new one;
	// nil for everything else.
	Cluster *v1alpha1.DatabaseCluster
	// Import is set for a look at a restore whose backup is not in the
	// repository yet: the step that brings it there before the operation.
	Import *ops.Step
}

// Want writes the wanted values of an operation into the cluster, or, when it
// is being cancelled, those from before. It is idempotent, so whoever
// continues applies it again. It reports whether anything changed.
func Want(c *v1alpha1.DatabaseCluster, op *v1alpha1.Operation) bool {
	before := c.DeepCopy()
	o, back := op.Spec, op.Status.Phase == v1alpha1.PhaseCancelling
	switch o.Verb {
	case v1alpha1.VerbScale, v1alpha1.VerbAddMember, v1alpha1.VerbRemoveMember:
		c.Spec.Members = o.Members
		if back {
			c.Spec.Members = o.FromMembers
		}
	case v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade:
		c.Spec.Version, c.Spec.Image = o.Version, o.Image
		if back {
			c.Spec.Version, c.Spec.Image = o.FromVersion, o.FromImage
		}
	case v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		settings := o.Settings
		if back {
			settings = o.FromSettings
		}
		settings.Apply(&c.Spec)
	case v1alpha1.VerbStop, v1alpha1.VerbStart:
		c.Spec.Stopped = o.Verb == v1alpha1.VerbStop
		if back {
			c.Spec.Stopped = o.FromStopped != nil && *o.FromStopped
		}
	case v1alpha1.VerbSchedule:
		c.Spec.Backup = *o.Policy
		if back {
			c.Spec.Backup = *o.FromPolicy
		}
	case v1alpha1.VerbEnableAuth, v1alpha1.VerbDisableAuth:
		c.Spec.Auth.Enabled = o.Verb == v1alpha1.VerbEnableAuth
		if back {
			c.Spec.Auth.Enabled = o.FromAuth != nil && *o.FromAuth
		}
	case v1alpha1.VerbCreateUser, v1alpha1.VerbDeleteUser:
		wantUser(c, *o.User, !back && o.Verb == v1alpha1.VerbCreateUser || back && o.FromUser)
	}
	return !equality.Semantic.DeepEqual(before.Spec, c.Spec)
}

// wantUser lists the user, or strikes it off.
func wantUser(c *v1alpha1.DatabaseCluster, u v1alpha1.DatabaseUser, wanted bool) {
	others := slices.DeleteFunc(slices.Clone(c.Spec.Auth.Users), func(o v1alpha1.DatabaseUser) bool { return o.Name == u.Name })
	if wanted {
		others = append(others, u)
	}
	c.Spec.Auth.Users = others
}

// Complete fills in what a request takes from the cluster as it is now.
func Complete(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.FromMembers, o.FromVersion, o.FromImage = c.Spec.Members, c.Spec.Version, c.Spec.Image
	switch o.Verb {
	case v1alpha1.VerbAddMember:
		if o.Members == 0 {
			o.Members = c.Spec.Members + 1
		}
	case v1alpha1.VerbRemoveMember:
		o.Members = c.Spec.Members
		if v1alpha1.MemberNumber(c.Name, o.Member) > 0 {
			o.Members--
		}
	case v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		o.FromSettings = v1alpha1.SettingsOf(&c.Spec)
		o.Settings = o.FromSettings.With(o.Change)
	case v1alpha1.VerbSchedule:
		o.FromPolicy = new(c.Spec.Backup)
	case v1alpha1.VerbRestore:
		if o.InPlace {
			o.FromEpoch = ops.EpochOf(c)
		}
	case v1alpha1.VerbStop, v1alpha1.VerbStart:
		o.FromStopped = new(c.Spec.Stopped)
	case v1alpha1.VerbEnableAuth, v1alpha1.VerbDisableAuth:
		o.FromAuth = new(c.Spec.Auth.Enabled)
	case v1alpha1.VerbCreateUser, v1alpha1.VerbDeleteUser:
		o.FromUser = o.User != nil && slices.ContainsFunc(c.Spec.Auth.Users, func(u v1alpha1.DatabaseUser) bool { return u.Name == o.User.Name })
	}
}

// Check judges what only the request and the wanted state can show, before
// anything is observed.
func Check(e engine.Engine, r Request, c *v1alpha1.DatabaseCluster) error {
	o := r.Operation
	if err := founded(o, c); err != nil {
		return err
	}
	if err := checkUsers(e, o, c); err != nil {
		return err
	}
	switch o.Verb {
	case v1alpha1.VerbCreate, v1alpha1.VerbRestore:
		if err := checkRootPassword(o, c); err != nil {
			return err
		}
		if r.Cluster != nil {
			if url := r.Cluster.Spec.Backup.Repository; url != "" {
				if _, err := ops.ParseRepository(url); err != nil {
					return err
				}
			}
			if err := checkPolicy(r.Cluster.Spec.Backup); err != nil {
				return err
			}
			if err := ops.CheckAmounts(r.Cluster.Spec); err != nil {
				return err
			}
			return e.CheckCreate(r.Cluster.Spec, slices.Contains(o.Waive, "size"))
		}
	case v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade:
		if err := ops.CheckImage("--image", o.Image); err != nil {
			return err
		}
		if c.Spec.Image != "" && o.Image == "" && o.Undoes == "" {
			return &engine.Refusal{Check: "image", Reason: fmt.Sprintf("%s runs an image of your own (%s), so this tool can't know that of %s", c.Name, c.Spec.Image, o.Version),
				Hint: "name the new one with --image"}
		}
	case v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		return checkSettings(e, o, c)
	case v1alpha1.VerbBackup:
		return checkAsked(o)
	case v1alpha1.VerbSchedule:
		return checkPolicy(*o.Policy)
	case v1alpha1.VerbCompact:
		return checkHistory(e)
	case v1alpha1.VerbClearAlarms:
		return health.CheckAlarms(e)
	case v1alpha1.VerbScale:
		spec := c.Spec
		spec.Members = o.Members
		return checkSize(e, spec, slices.Contains(o.Waive, "size"))
	case v1alpha1.VerbAddMember:
		spec := c.Spec
		spec.Members = o.Members
		return checkSize(e, spec, true)
	case v1alpha1.VerbRemoveMember:
		if o.Members < 1 {
			return &engine.Refusal{Check: "last-member", Reason: "the last member of " + c.Name + " can't be removed: its data would be gone",
				Hint: fmt.Sprintf("kubectl dbop stop %s stops it and keeps its volume", c.Name)}
		}
	}
	return nil
}

// founded refuses to change a cluster that has not formed yet: its founders
// start with the words that were written down, and with no others.
func founded(o v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) error {
	switch o.Verb {
	case v1alpha1.VerbCreate, v1alpha1.VerbRestore, v1alpha1.VerbDelete, v1alpha1.VerbRepair:
		return nil
	}
	if f := c.Status.Formation; f != nil && f.ClusterID != "" {
		return nil
	}
	return &engine.Refusal{Check: "not-formed", Reason: fmt.Sprintf("%s was begun and has not formed yet", c.Name),
		Hint: fmt.Sprintf("repeat the command that created it; kubectl dbop history %s shows it", c.Name)}
}

// checkSize asks the engine about nothing but the size.
func checkSize(e engine.Engine, spec v1alpha1.DatabaseClusterSpec, force bool) error {
	caps := e.Capabilities()
	if spec.Members < 1 {
		return &engine.Refusal{Check: "size", Reason: "a cluster needs at least one member", Hint: "choose 1 or more; kubectl dbop stop stops all members and keeps their volumes"}
	}
	if int(spec.Members) > caps.MaxMembers {
		return &engine.Refusal{Check: "size", Reason: fmt.Sprintf("%d members are too many: each write waits for a majority, and beyond %d nothing is gained", spec.Members, caps.MaxMembers),
			Hint: fmt.Sprintf("choose at most %d", caps.MaxMembers)}
	}
	if caps.OddMembers && spec.Members%2 == 0 && !force {
		return &engine.Refusal{Check: "size", Reason: fmt.Sprintf("%d members tolerate no more failures than %d, and one more can fail", spec.Members, spec.Members-1),
			Hint: fmt.Sprintf("choose %d or %d, or insist with --force", spec.Members-1, spec.Members+1)}
	}
	return nil
}
