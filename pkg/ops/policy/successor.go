package policy

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Successor is a new cluster that is to take the place of another one: it begins as its copy and follows it, and is
// like it in all that a person chose, but for what the caller changes. Found is still to be asked. Its image is that of
// the catalog: an image of the former cluster is of the former version.
func Successor(of *v1alpha1.DatabaseCluster, name string) *v1alpha1.DatabaseCluster {
	out := &v1alpha1.DatabaseCluster{}
	out.Name, out.Namespace = name, of.Namespace
	out.Spec = *of.Spec.DeepCopy()
	out.Spec.Image, out.Spec.RestoreFrom, out.Spec.RedirectTo, out.Spec.Successor = "", nil, "", ""
	out.Spec.Stopped, out.Spec.Paused, out.Spec.Waive, out.Spec.DeletionPolicy = false, false, nil, ""
	out.Spec.InitialSQL = nil // what it made comes along with the data
	out.Spec.Source = &v1alpha1.Source{Cluster: of.Name}
	return out
}
