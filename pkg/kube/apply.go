package kube

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Applied is what the API server said of a workload after it was applied.
type Applied struct {
	// Observed is true once the workload's controller has seen this very
	// template: a pod deleted before may come back from the old one.
	Observed bool
}

// ApplyServices makes both services. A repeat changes nothing.
func (c *Client) ApplyServices(ctx context.Context, cluster *v1alpha1.DatabaseCluster, ports []corev1.ServicePort) error {
	headless, clients := BuildServices(cluster, ports)
	for _, s := range []*corev1.Service{headless, clients} {
		if err := c.apply(ctx, cluster, s); err != nil {
			return err
		}
	}
	return nil
}

// ApplyBudget makes or changes the disruption budget; 0 removes it. A repeat changes nothing.
func (c *Client) ApplyBudget(ctx context.Context, cluster *v1alpha1.DatabaseCluster, minAvailable int32) error {
	b := BuildBudget(cluster, minAvailable)
	if minAvailable > 0 {
		return c.apply(ctx, cluster, b)
	}
	return c.deleteOurs(ctx, cluster.Name, b)
}

// ApplyVolume makes a member's claim, or grows it. A repeat changes nothing.
// The token is the present formation's. The claim also gets a copy of the record.
func (c *Client) ApplyVolume(ctx context.Context, cluster *v1alpha1.DatabaseCluster, member string) error {
	return c.apply(ctx, cluster, withCopy(BuildVolume(cluster, member), cluster))
}

// RehearseVolume lets the API server judge what ApplyVolume would write, and
// stores nothing.
func (c *Client) RehearseVolume(ctx context.Context, cluster *v1alpha1.DatabaseCluster, member string) error {
	return c.serverSideApply(ctx, BuildVolume(cluster, member), client.DryRunAll)
}

// ApplyWorkload makes or changes a member's workload; a running pod stays as
// it is. A repeat changes nothing.
func (c *Client) ApplyWorkload(ctx context.Context, in WorkloadInput) (Applied, error) {
	w := BuildWorkload(in)
	if err := c.apply(ctx, in.Cluster, w); err != nil {
		return Applied{}, err
	}
	return Applied{Observed: w.Status.ObservedGeneration >= w.Generation}, nil
}

// SealWorkload rewrites a member's template so that it can't found a cluster
// any more, and says so on the workload. It fails with ErrConflict if somebody
// writes at the same time; a repeat writes nothing.
func (c *Client) SealWorkload(ctx context.Context, namespace, member string, seal func(corev1.PodTemplateSpec) corev1.PodTemplateSpec) error {
	live := &appsv1.StatefulSet{}
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: member}, live); err != nil {
		return err
	}
	if live.Annotations[AnnotationBootstrap] == "false" {
		return nil
	}
	sealed := &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: live.Name, Namespace: live.Namespace, UID: live.UID, ResourceVersion: live.ResourceVersion,
			Labels: live.Labels, Annotations: merged(live.Annotations, map[string]string{AnnotationBootstrap: "false"}),
		},
		Spec: *live.Spec.DeepCopy(),
	}
	sealed.Spec.Template = seal(sealed.Spec.Template)
	return c.serverSideApply(ctx, sealed)
}

// apply takes ownership by force, because one field manager serves command
// line and operator alike; so it first makes sure that nobody else's object
// bears the name, nor one of an earlier cluster. What others added to it is
// removed first: an apply alone leaves it there.
func (c *Client) apply(ctx context.Context, cluster *v1alpha1.DatabaseCluster, obj client.Object) error {
	found, err := c.peek(ctx, obj)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	case !belongs(found, cluster) && !unlabelled(found, cluster):
		return c.foreign("patch", obj)
	default:
		if err := c.strip(ctx, obj, found); err != nil {
			return err
		}
	}
	return c.serverSideApply(ctx, obj)
}

// serverSideApply sends the object as it is and reads back what came of it.
func (c *Client) serverSideApply(ctx context.Context, obj client.Object, opts ...client.ApplyOption) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return fmt.Errorf("write %s %s/%s: %w", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetNamespace(), obj.GetName(), err)
	}
	delete(content, "status")
	wanted := &unstructured.Unstructured{Object: pruned(content)}
	if err := c.api.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), append(opts, client.ForceOwnership)...); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(wanted.Object, obj); err != nil {
		return fmt.Errorf("read back %s %s/%s: %w", wanted.GetKind(), obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}

// pruned drops nulls, which Go's types write for unset times: applied, they
// would claim fields that we have no opinion on.
func pruned(content map[string]any) map[string]any {
	for k, v := range content {
		switch v := v.(type) {
		case nil:
			delete(content, k)
		case map[string]any:
			pruned(v)
		case []any:
			for _, e := range v {
				if m, ok := e.(map[string]any); ok {
					pruned(m)
				}
			}
		}
	}
	return content
}

// peek reads an object's metadata alone.
func (c *Client) peek(ctx context.Context, obj client.Object) (*metav1.PartialObjectMetadata, error) {
	gvk, err := c.api.GroupVersionKindFor(obj)
	if err != nil {
		return nil, fmt.Errorf("look at %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m, c.api.Get(ctx, client.ObjectKeyFromObject(obj), m)
}

func (c *Client) foreign(verb string, obj client.Object) error {
	return &RequestError{Verb: verb, Resource: resourceOf(c.api, obj), Namespace: obj.GetNamespace(), Name: obj.GetName(), Kind: ErrForeign}
}
