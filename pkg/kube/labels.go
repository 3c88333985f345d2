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

// metaOf is the metadata of an object of the cluster. It has no owner: an
// object that the record or the custom resource owned would be deleted with
// it, and then one lost object takes the database down. Delete finds objects
// by label.
func metaOf(c *v1alpha1.DatabaseCluster, name string, labels map[string]string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Labels: labels}
	if c.Status.ID != "" {
		m.Annotations = map[string]string{AnnotationClusterID: c.Status.ID}
	}
	return m
}

// belongs reports whether an object carries the cluster's label and is not of
// an earlier cluster of the same name. An object whose annotation somebody
// removed still belongs.
func belongs(o metav1.Object, c *v1alpha1.DatabaseCluster) bool {
	if o.GetLabels()[v1alpha1.LabelCluster] != c.Name {
		return false
	}
	id := o.GetAnnotations()[AnnotationClusterID]
	return id == "" || c.Status.ID == "" || id == c.Status.ID
}
