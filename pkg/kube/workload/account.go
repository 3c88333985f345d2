package workload

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
)

// BuildAccount makes what the agents of a cluster lead clients to its primary
// with: a service account that may read and change the client service, and
// nothing else. Empty where the agents pass clients on.
func BuildAccount(c *v1alpha1.DatabaseCluster) []client.Object {
	if !c.Spec.Direct() {
		return nil
	}
	return account(c)
}

func account(c *v1alpha1.DatabaseCluster) []client.Object {
	meta := func() metav1.ObjectMeta {
		return kube.ObjectMeta(c, v1alpha1.AgentAccount(c.Name), kube.ObjectLabels(c, kube.ComponentDatabase))
	}
	rbac := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
	}
	return []client.Object{
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta(),
			AutomountServiceAccountToken: new(false)},
		&rbacv1.Role{TypeMeta: rbac("Role"), ObjectMeta: meta(), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""},
			Resources: []string{"services"}, Verbs: []string{"get", "patch"},
			ResourceNames: []string{v1alpha1.ClientService(c.Name)}}}},
		&rbacv1.RoleBinding{TypeMeta: rbac("RoleBinding"), ObjectMeta: meta(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: v1alpha1.AgentAccount(c.Name)},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: v1alpha1.AgentAccount(c.Name),
				Namespace: c.Namespace}}},
	}
}

// ApplyAccount makes or changes it. A repeat changes nothing.
func ApplyAccount(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	for _, o := range BuildAccount(cluster) {
		if b, ok := o.(*rbacv1.RoleBinding); ok {
			if err := unbind(ctx, c, cluster, b); err != nil {
				return err
			}
		}
		if err := c.Apply(ctx, cluster, o); err != nil {
			return err
		}
	}
	return nil
}

// AccountDifferences compares what is there of it with what this tool makes, and
// tells since when there is the service account; zero if there is none. Who may
// not read it is told nothing.
func AccountDifferences(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) (since time.Time,
	out []drift.Difference, err error) {
	for _, want := range BuildAccount(cluster) {
		kind := want.GetObjectKind().GroupVersionKind().Kind
		have, ok := want.DeepCopyObject().(client.Object)
		if !ok {
			continue
		}
		err := c.API.Get(ctx, client.ObjectKeyFromObject(want), have)
		if _, forbidden := errors.AsType[*kube.ForbiddenError](err); forbidden {
			continue
		}
		switch {
		case errors.Is(err, kube.ErrNotFound):
			out = append(out, drift.MissingObject(kind, want.GetName(), ""))
		case err != nil:
			return since, nil, err
		default:
			if _, is := have.(*corev1.ServiceAccount); is {
				since = have.GetCreationTimestamp().Time
			}
			out = append(out, drift.ComparisonOf(want).Of(kind, want.GetName(), "").Differences(want, have)...)
		}
	}
	return since, out, nil
}

// DeleteAccount removes it. A repeat does nothing.
func DeleteAccount(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	for _, o := range account(cluster) {
		if err := c.DeleteOwned(ctx, cluster.Name, o); err != nil {
			return err
		}
	}
	return nil
}

// deleteAnyAccount removes it also from a cluster that wants none any more. For such a one no right on its kinds is
// asked for.
func deleteAnyAccount(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	err := DeleteAccount(ctx, c, cluster)
	if _, ok := errors.AsType[*kube.ForbiddenError](err); !cluster.Spec.Direct() && (ok ||
		errors.Is(err, kube.ErrForeign)) {
		return nil
	}
	return err
}
