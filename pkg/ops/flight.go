package ops

import "github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"

// Flight is what is in flight of a cluster: at most one ordinary operation, and beside it one that leaves the cluster
// as it is, see Manners.Alongside. Each is carried out under a lease of its own, and both begin under that of the
// cluster.
type Flight struct {
	Ordinary, Backup *v1alpha1.Operation
}

// Flight sorts the records in flight of a cluster, oldest first. Should two of a kind be among them, which only a
// writer without the lease can bring about, the older one counts: that one has effects already.
func (v Verbs) Flight(active []v1alpha1.Operation) Flight {
	var f Flight
	for i := range active {
		o := &active[i]
		slot := &f.Ordinary
		if v.of(o.Spec.Verb).Alongside {
			slot = &f.Backup
		}
		if *slot == nil {
			*slot = o
		}
	}
	return f
}

// First is what resume and cancel act on: the ordinary operation, and without one what is beside it; nil for nothing.
func (f Flight) First() *v1alpha1.Operation {
	if f.Ordinary != nil {
		return f.Ordinary
	}
	return f.Backup
}
