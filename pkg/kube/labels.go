package kube

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// The recommended labels of Kubernetes, as far as we set them.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelVersion   = "app.kubernetes.io/version"
	LabelComponent = "app.kubernetes.io/component"
	LabelManagedBy = "app.kubernetes.io/managed-by"
)

// The components. Selectors of services and budgets ask for ComponentDatabase,
// so that a helper pod is never a member.
const (
	ComponentDatabase = "database"
	ComponentHelper   = "helper"
	ComponentRecord   = "record"
)

// ContainerSidecar is the container of a helper that serves the first one, and has no end of its own.
const ContainerSidecar = "sidecar"

// ObjectLabels are on every object of the cluster.
func ObjectLabels(c *v1alpha1.DatabaseCluster, component string) map[string]string {
	return map[string]string{
		LabelName:             c.Spec.Engine,
		LabelInstance:         c.Name,
		LabelComponent:        component,
		LabelManagedBy:        v1alpha1.FieldManager,
		v1alpha1.LabelCluster: c.Name,
	}
}

// MemberLabels of an object of one member.
func MemberLabels(c *v1alpha1.DatabaseCluster, member string) map[string]string {
	l := ObjectLabels(c, ComponentDatabase)
	l[v1alpha1.LabelMember] = member
	return l
}

// MemberSelector picks the pods of all members, and no helper.
func MemberSelector(cluster string) map[string]string {
	return map[string]string{v1alpha1.LabelCluster: cluster, LabelComponent: ComponentDatabase}
}

// Merged returns base with more on top; neither is changed.
func Merged(base, more map[string]string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, more)
	return out
}

// ObjectMeta is the metadata of an object of the cluster. It has no owner: an
// object that the record or the custom resource owned would be deleted with
// it, and then one lost object takes the database down. Delete finds objects
// by label.
func ObjectMeta(c *v1alpha1.DatabaseCluster, name string, labels map[string]string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Labels: labels}
	if c.Status.ID != "" {
		m.Annotations = map[string]string{AnnotationClusterID: c.Status.ID}
	}
	return m
}

// BelongsTo reports whether an object carries the cluster's label and is not of
// an earlier cluster of the same name. An object whose annotation somebody
// removed still belongs.
func BelongsTo(o metav1.Object, c *v1alpha1.DatabaseCluster) bool {
	if o.GetLabels()[v1alpha1.LabelCluster] != c.Name {
		return false
	}
	id := o.GetAnnotations()[AnnotationClusterID]
	return id == "" || c.Status.ID == "" || id == c.Status.ID
}

// Token of the present formation.
func Token(c *v1alpha1.DatabaseCluster) string {
	if c.Status.Bootstrap == nil {
		return ""
	}
	return c.Status.Bootstrap.Token
}
