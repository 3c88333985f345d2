package kube

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// The recommended labels of Kubernetes, as far as we set them.
const (
	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelVersion   = "app.kubernetes.io/version"
	labelComponent = "app.kubernetes.io/component"
	labelManagedBy = "app.kubernetes.io/managed-by"
)

// The components. Selectors of services and budgets ask for componentDatabase,
// so that a helper pod is never a member.
const (
	componentDatabase = "database"
	componentHelper   = "helper"
	componentRecord   = "record"
)

// objectLabels are on every object of the cluster.
func objectLabels(c *v1alpha1.DatabaseCluster, component string) map[string]string {
	return map[string]string{
		labelName:             c.Spec.Engine,
		labelInstance:         c.Name,
		labelComponent:        component,
		labelManagedBy:        v1alpha1.FieldManager,
		v1alpha1.LabelCluster: c.Name,
	}
}

// memberLabels of an object of one member.
func memberLabels(c *v1alpha1.DatabaseCluster, member string) map[string]string {
	l := objectLabels(c, componentDatabase)
	l[v1alpha1.LabelMember] = member
	return l
}

// memberSelector picks the pods of all members, and no helper.
func memberSelector(cluster string) map[string]string {
	return map[string]string{v1alpha1.LabelCluster: cluster, labelComponent: componentDatabase}
}

// merged returns base with more on top; neither is changed.
func merged(base, more map[string]string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, more)
	return out
}

// OwnerReference makes an object go when the cluster's record goes. It
// belongs on everything but volumes, backups and operation records, which
// outlive the cluster. nil if the cluster was not stored yet.
func OwnerReference(c *v1alpha1.DatabaseCluster) *metav1.OwnerReference {
	if c.UID == "" {
		return nil
	}
	return &metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: v1alpha1.Record(c.Name), UID: c.UID}
}

// owned is OwnerReference as object metadata takes it.
func owned(c *v1alpha1.DatabaseCluster) []metav1.OwnerReference {
	if ref := OwnerReference(c); ref != nil {
		return []metav1.OwnerReference{*ref}
	}
	return nil
}

// belongs reports whether an object carries the cluster's label and is not
// owned by an earlier cluster of the same name, whose remains the garbage
// collector is about to take.
func belongs(o metav1.Object, c *v1alpha1.DatabaseCluster) bool {
	if o.GetLabels()[v1alpha1.LabelCluster] != c.Name {
		return false
	}
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == "ConfigMap" && ref.Name == v1alpha1.Record(c.Name) && c.UID != "" && ref.UID != c.UID {
			return false
		}
	}
	return true
}
