package ops

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// remedy is the command that mends a difference.
func (s State) remedy(d kube.Difference) string {
	switch {
	case kindOf(d) == kindVolume && d.Is("spec.resources"):
		return fmt.Sprintf("kubectl dbop resize %s --storage %s", s.Cluster.Name, s.Cluster.Spec.Storage.Size.String())
	case s.passwordOf(d) != "":
		return fmt.Sprintf("kubectl dbop credentials rotate %s %s", s.Cluster.Name, s.passwordOf(d))
	case !mendable(d):
		return fmt.Sprintf("kubectl dbop replace-member %s %s --force gives it a new volume", s.Cluster.Name, d.Member)
	case s.Operation != nil:
		return "kubectl dbop resume " + s.Cluster.Name
	}
	return "kubectl dbop repair " + s.Cluster.Name
}

// mendable reports whether writing the object again removes the difference:
// what is chosen when a volume is made stays for as long as it exists.
func mendable(d kube.Difference) bool { return kindOf(d) != kindVolume || !d.Is("spec") }

// undisruptive reports whether putting it back restarts nobody and takes nothing from
// anybody, so that an operator does it without being asked.
func undisruptive(d kube.Difference) bool {
	return mendable(d) && !d.Template() && (kindOf(d) != kindPod || !d.Is("spec")) &&
		d.Kind != kube.DifferenceFinalizer && d.Kind != kube.DifferenceTerminating
}

// authority is the object that holds the authority.
func (s State) authority() string { return kindSecret + "/" + v1alpha1.CASecret(s.Cluster.Name) }

// authorityLost is the difference of an authority that can't sign; nil if it can.
func (s State) authorityLost() *kube.Difference {
	for _, d := range s.Kube.Differences {
		if d.Object == s.authority() && (d.Kind == kube.DifferenceMissing || d.Kind == kube.DifferenceUnusable) {
			return &d
		}
	}
	return nil
}

// derivable reports whether an object can be made again from what is there:
// certificates need the authority, and the authority itself nothing replaces.
func (s State) derivable(d kube.Difference) bool {
	if kindOf(d) == kindWorkload && d.Kind == kube.DifferenceMissing {
		return false // the family starting makes it
	}
	if kindOf(d) != kindSecret || d.Kind != kube.DifferenceMissing && d.Kind != kube.DifferenceUnusable {
		return true
	}
	return d.Object != s.authority() && s.authorityLost() == nil && s.passwordOf(d) == ""
}

// passwordOf is the user whose password a difference is about the loss of; ""
// if it is about something else.
func (s State) passwordOf(d kube.Difference) string {
	if d.Kind != kube.DifferenceMissing && d.Kind != kube.DifferenceUnusable {
		return ""
	}
	for _, user := range s.Cluster.PasswordUsers() {
		if d.Object == kindSecret+"/"+v1alpha1.PasswordSecret(s.Cluster.Name, user) {
			return user
		}
	}
	return ""
}

// tampered are the members whose workload has a template that was changed.
func (s State) tampered() []string {
	var out []string
	for _, d := range s.Kube.Differences {
		if kindOf(d) == kindWorkload && d.Template() && !slices.Contains(out, d.Member) {
			out = append(out, d.Member)
		}
	}
	return out
}
