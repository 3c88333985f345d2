package health

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// remedy is the command that mends a difference.
func remedy(s ops.State, d drift.Difference) string {
	switch {
	case KindOf(d) == KindVolume && d.Is("spec.resources"):
		return fmt.Sprintf("kubectl dbop resize %s --storage %s", s.Cluster.Name, s.Cluster.Spec.Storage.Size.String())
	case passwordOf(s, d) != "":
		return fmt.Sprintf("kubectl dbop user rotate %s %s", s.Cluster.Name, passwordOf(s, d))
	case Leaving(s, d):
		return fmt.Sprintf("kubectl dbop member replace %s %s", s.Cluster.Name, d.Member)
	case !Mendable(d):
		return fmt.Sprintf("kubectl dbop member replace %s %s --force gives it a new volume", s.Cluster.Name, d.Member)
	case s.Operation != nil:
		return "kubectl dbop resume " + s.Cluster.Name
	}
	return "kubectl dbop repair " + s.Cluster.Name
}

// Mendable reports whether writing the object again removes the difference:
// what is chosen when a volume is made stays for as long as it exists.
func Mendable(d drift.Difference) bool { return KindOf(d) != KindVolume || !d.Is("spec") }

// Leaving reports whether a difference is of a volume that is being deleted.
// Kubernetes can't take that back: the volume goes when its pod stops, and
// only another one helps.
func Leaving(s ops.State, d drift.Difference) bool {
	return KindOf(d) == KindVolume && s.Kube.Member(d.Member).Volume.Terminating
}

// Undisruptive reports whether putting it back restarts nobody and takes nothing from
// anybody, so that an operator does it without being asked.
func Undisruptive(d drift.Difference) bool {
	return Mendable(d) && !d.Template() && (KindOf(d) != KindPod || !d.Is("spec")) &&
		d.Kind != drift.Finalizer && d.Kind != drift.Terminating
}

// Authority is the object that holds the authority.
func Authority(s ops.State) string { return KindSecret + "/" + v1alpha1.CASecret(s.Cluster.Name) }

// AuthorityLost is the difference of an authority that can't sign; nil if it can.
func AuthorityLost(s ops.State) *drift.Difference {
	for _, d := range s.Kube.Differences {
		if d.Object == Authority(s) && (d.Kind == drift.Missing || d.Kind == drift.Unusable) {
			return &d
		}
	}
	return nil
}

// Derivable reports whether an object can be made again from what is there:
// certificates need the authority, and the authority itself nothing replaces.
func Derivable(s ops.State, d drift.Difference) bool {
	if KindOf(d) == KindWorkload && d.Kind == drift.Missing {
		return false // the family starting makes it
	}
	if KindOf(d) != KindSecret || d.Kind != drift.Missing && d.Kind != drift.Unusable {
		return true
	}
	return d.Object != Authority(s) && AuthorityLost(s) == nil && passwordOf(s, d) == ""
}

// Blind is the difference for which no member can be asked: the certificate
// that this tool logs in with is missing or can't be used. That says nothing of
// the members, so nobody is to recover them from anything. nil if it is usable.
func Blind(s ops.State) *drift.Difference {
	for _, d := range s.Kube.Differences {
		if d.Object == KindSecret+"/"+v1alpha1.AdminSecret(s.Cluster.Name) &&
			(d.Kind == drift.Missing || d.Kind == drift.Unusable) {
			return &d
		}
	}
	return nil
}

// passwordOf is the user whose password a difference is about the loss of; ""
// if it is about something else.
func passwordOf(s ops.State, d drift.Difference) string {
	if d.Kind != drift.Missing && d.Kind != drift.Unusable {
		return ""
	}
	for _, user := range s.Cluster.PasswordUsers() {
		if d.Object == KindSecret+"/"+v1alpha1.PasswordSecret(s.Cluster.Name, user) {
			return user
		}
	}
	return ""
}

// Tampered are the members whose workload has a template that was changed.
func Tampered(s ops.State) []string {
	var out []string
	for _, d := range s.Kube.Differences {
		if KindOf(d) == KindWorkload && d.Template() && !slices.Contains(out, d.Member) {
			out = append(out, d.Member)
		}
	}
	return out
}
