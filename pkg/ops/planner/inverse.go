package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// invert completes the request by what the record says of before.
func (u *Undoing) invert() error {
	of, o := u.Of.Spec, &u.Operation
	switch of.Verb {
	case v1alpha1.VerbScale, v1alpha1.VerbAddMember, v1alpha1.VerbRemoveMember:
		return u.invertSize()
	case v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade:
		return u.invertVersion()
	case v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		return u.invertSettings()
	case v1alpha1.VerbStop, v1alpha1.VerbStart:
		return u.invertStop()
	case v1alpha1.VerbEnableAuth, v1alpha1.VerbDisableAuth:
		return u.invertAuth()
	case v1alpha1.VerbSchedule:
		if of.FromPolicy == nil {
			return u.unrecorded("which schedule there was")
		}
		o.Verb, o.Policy = v1alpha1.VerbSchedule, of.FromPolicy
		u.Title = "take no scheduled backups any more"
		if of.FromPolicy.Schedule != "" {
			u.Title = "back up at " + describeSchedule(*of.FromPolicy) + " again"
		}
		return nil
	case v1alpha1.VerbSwitchover:
		if of.Leader == "" {
			return u.unrecorded("who led before")
		}
		o.Verb, o.Member = v1alpha1.VerbSwitchover, of.Leader
		u.Title = "hand leadership back to " + of.Leader
		return nil
	case v1alpha1.VerbCreateUser:
		o.Verb, o.User = v1alpha1.VerbDeleteUser, &v1alpha1.DatabaseUser{Name: of.User.Name}
		u.Title = "delete user " + of.User.Name
		u.Lost = []string{"access of every client that logs in as " + of.User.Name}
		return nil
	}
	if of.Verb == v1alpha1.VerbRotateCertificates && of.Rotation == v1alpha1.RotateBegin {
		o.Verb, o.Rotation = v1alpha1.VerbRotateCertificates, v1alpha1.RotateAbandon
		u.Title = "take the new authority away again"
		return nil
	}
	return u.noInverse()
}

// invertSize goes back to the former number. Data never comes back by it: who
// joins gets a copy of what the others have.
func (u *Undoing) invertSize() error {
	of, o := u.Of.Spec, &u.Operation
	if of.FromMembers == 0 || of.Members == 0 {
		return u.unrecorded("how many members there were")
	}
	o.Members = of.FromMembers
	// The former number was accepted once already.
	o.Waive = []string{"size"}
	switch of.Verb {
	case v1alpha1.VerbAddMember:
		added := joined(u.Of)
		if added == "" {
			return u.unrecorded("which member joined")
		}
		o.Verb, o.Member, o.Members = v1alpha1.VerbRemoveMember, added, 0
		u.Title, u.Lost = "remove "+added, []string{"the volume of " + added}
	case v1alpha1.VerbRemoveMember:
		o.Verb = v1alpha1.VerbAddMember
		u.Title, u.Stays = "add a member in place of "+of.Member, []string{"the volume of " + of.Member + ": the new member starts with a copy of the others' data"}
	default:
		o.Verb = v1alpha1.VerbScale
		u.Title = fmt.Sprintf("scale from %d members back to %d", of.Members, of.FromMembers)
		if of.FromMembers < of.Members {
			u.Lost = []string{"the volumes of the members that leave"}
		} else {
			u.Stays = []string{"the volumes of the members that left: new ones start with a copy of the others' data"}
		}
	}
	return nil
}

// joined is the member that an operation added last, as its journal says.
func joined(op *v1alpha1.Operation) string {
	name := ""
	for _, e := range op.Status.Journal {
		if member, ok := strings.CutPrefix(e.Step, string(ops.ActionRegister)+"/"); ok {
			name = member
		}
	}
	return name
}

// invertVersion goes back by the other verb, with all its checks: the engine
// knows which ways there are.
func (u *Undoing) invertVersion() error {
	of, o := u.Of.Spec, &u.Operation
	if of.FromVersion == "" {
		return u.unrecorded("which version ran before")
	}
	o.Verb, o.Version, o.Image = v1alpha1.VerbDowngrade, of.FromVersion, of.FromImage
	if of.Verb == v1alpha1.VerbDowngrade {
		o.Verb = v1alpha1.VerbUpgrade
	}
	u.Title = fmt.Sprintf("%s from %s back to %s", o.Verb, of.Version, of.FromVersion)
	return nil
}

// TakesBackup reports whether the way back begins with a safety backup.
func (u *Undoing) TakesBackup() bool {
	return u.Operation.Verb == v1alpha1.VerbUpgrade || u.Operation.Verb == v1alpha1.VerbDowngrade
}

// invertSettings asks for the former value of whatever was changed. Volumes
// never shrink.
func (u *Undoing) invertSettings() error {
	of, o := u.Of.Spec, &u.Operation
	if of.FromSettings == nil || of.Change == nil || of.Settings == nil {
		return u.unrecorded("which settings there were")
	}
	o.Verb, o.Waive, o.Change = of.Verb, []string{"size"}, formerSettings(of.FromSettings, of.Change)
	grown := of.Settings.Size.Cmp(of.FromSettings.Size) > 0
	if grown {
		u.Stays = []string{fmt.Sprintf("the size of the volumes, %s: Kubernetes can't make one smaller", of.Settings.Size.String())}
	}
	if c := o.Change; len(c.Set) == 0 && len(c.Unset) == 0 && len(c.Requests) == 0 && len(c.Limits) == 0 {
		return NoUndo(of.Cluster, fmt.Sprintf("volumes of %s have %s now, and Kubernetes can't make one smaller", of.Cluster, of.Settings.Size.String()),
			"a restore into a new cluster can have smaller ones: kubectl dbop backup, then kubectl dbop restore NAME --from BACKUP --storage "+of.FromSettings.Size.String())
	}
	u.Title = "go back to the settings from before " + string(of.Verb)
	return nil
}

// formerSettings is the change that gives what a change touched its former values.
func formerSettings(from *v1alpha1.Settings, change *v1alpha1.SettingsChange) *v1alpha1.SettingsChange {
	out := &v1alpha1.SettingsChange{Requests: formerAmounts(from.Resources.Requests, change.Requests), Limits: formerAmounts(from.Resources.Limits, change.Limits)}
	restore := func(name string) {
		value, had := from.Config[name]
		if !had {
			out.Unset = append(out.Unset, name)
			return
		}
		if out.Set == nil {
			out.Set = map[string]string{}
		}
		out.Set[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(change.Set)) {
		restore(name)
	}
	for _, name := range change.Unset {
		if _, had := from.Config[name]; had {
			restore(name)
		}
	}
	return out
}

// formerAmounts are the former amounts of what was changed; zero takes away
// what was not there.
func formerAmounts(from, change corev1.ResourceList) corev1.ResourceList {
	var out corev1.ResourceList
	for name := range change {
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[name] = from[name].DeepCopy()
	}
	return out
}

func (u *Undoing) invertStop() error {
	of, o := u.Of.Spec, &u.Operation
	switch starts := of.Verb == v1alpha1.VerbStart; {
	case of.FromStopped == nil:
		return u.unrecorded("whether it was stopped before")
	case *of.FromStopped != starts:
		return u.idle()
	case starts:
		o.Verb, u.Title, u.Lost = v1alpha1.VerbStop, "stop it again", []string{"every connection, until it is started again"}
	default:
		o.Verb, u.Title = v1alpha1.VerbStart, "start it again"
	}
	return nil
}

func (u *Undoing) invertAuth() error {
	of, o := u.Of.Spec, &u.Operation
	switch enables := of.Verb == v1alpha1.VerbEnableAuth; {
	case of.FromAuth == nil:
		return u.unrecorded("whether clients had to log in before")
	case *of.FromAuth == enables:
		return u.idle()
	case enables:
		o.Verb, u.Title = v1alpha1.VerbDisableAuth, "let clients in without logging in"
		u.Lost, u.Stays = []string{"the protection by users and their rights"}, []string{"users, passwords and secrets"}
	default:
		o.Verb, u.Title, u.Lost = v1alpha1.VerbEnableAuth, "demand that clients log in", []string{"access of clients that don't log in"}
	}
	return nil
}

// unrecorded refuses to guess.
func (u *Undoing) unrecorded(what string) error {
	return NoUndo(u.Of.Spec.Cluster, fmt.Sprintf("the record of %s (%s) does not say %s: a tool that did not write it down yet made it", u.Of.Spec.Verb, u.Of.Name, what), "")
}

// idle refuses to invert what was repeated on a cluster that was so already.
func (u *Undoing) idle() error {
	return NoUndo(u.Of.Spec.Cluster, fmt.Sprintf("%s (%s) found %s as it was to be, so there is nothing to take back", u.Of.Spec.Verb, u.Of.Name, u.Of.Spec.Cluster), "")
}

// noInverse says of each verb without a known way back why, and what to do instead.
func (u *Undoing) noInverse() error {
	of, name := u.Of.Spec, u.Of.Spec.Cluster
	reason, hint := "there is no way back from "+string(of.Verb), ""
	switch of.Verb {
	case v1alpha1.VerbRestart, v1alpha1.VerbDefrag, v1alpha1.VerbRepair:
		reason = string(of.Verb) + " changed nothing that could be taken back"
	case v1alpha1.VerbCreate:
		reason = name + " was created, and to take that back is to delete it"
	case v1alpha1.VerbRestore, v1alpha1.VerbRecover:
		if of.Verb == v1alpha1.VerbRestore && !of.InPlace {
			reason = name + " was made from a backup, and to take that back is to delete it"
			break
		}
		reason = string(of.Verb) + " replaced the data of " + name
		facts := u.Of.Status.Facts
		switch kept := facts[v1alpha1.FactKept]; {
		case facts[v1alpha1.FactBackup] != "":
			hint = fmt.Sprintf("the data of before is in a backup: kubectl dbop restore %s --in-place --from %s --repository %s", name, of.Backup, of.Repository)
		case kept != "":
			hint = fmt.Sprintf("no backup was taken before; the data of before is in its volumes, which %s left as they were: kubectl get pvc %s", of.Verb, kept)
		}
	case v1alpha1.VerbReplaceMember:
		reason = "what " + of.Member + " had before is gone, and its successor has a copy of the others' data"
	case v1alpha1.VerbDeleteUser:
		reason, hint = "the password of "+of.User.Name+" is gone with its secret", fmt.Sprintf("make the user again, with a new one: kubectl dbop user create %s %s", name, of.User.Name)
	case v1alpha1.VerbRotateCredentials:
		reason, hint = "a password that was renewed or ended does not come back", "kubectl dbop user rotate "+name+" gives new ones"
	case v1alpha1.VerbRotateCertificates:
		reason, hint = "certificates and keys that were renewed do not come back", "kubectl dbop certificates rotate "+name+" gives new ones"
	}
	return NoUndo(name, reason, hint)
}
