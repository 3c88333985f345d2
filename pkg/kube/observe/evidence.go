package observe

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
)

// Evidence is everything that exists of a cluster, as it is: secrets are in it.
type Evidence struct {
	Objects []client.Object
	// Missing says what could not be read, and why.
	Missing []Gap
}

// Gap is something that could not be read.
type Gap struct {
	What string
	Err  error
}

// CollectEvidence reads everything that bears the cluster's label, the custom resource
// that it is under and what asks for backups of it, the events about it, its
// leases, and what is known of its nodes. Nothing that fails keeps the
// rest from being read.
func CollectEvidence(ctx context.Context, c *kube.Client, namespace, cluster string) Evidence {
	e := Evidence{}
	ours := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelCluster: cluster}}
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &appsv1.StatefulSetList{}, &corev1.PodList{},
		&corev1.PersistentVolumeClaimList{},
		&corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{}, &corev1.SecretList{}} {
		gather(ctx, c, &e, list, func(client.Object) bool { return true }, ours...)
	}
	gather(ctx, c, &e, &corev1.EventList{}, func(o client.Object) bool {
		event, ok := o.(*corev1.Event)
		return ok && concerns(event.InvolvedObject.Name, cluster)
	}, client.InNamespace(namespace))
	for _, name := range []string{v1alpha1.Record(cluster), v1alpha1.BackupLease(cluster)} {
		lease := &coordinationv1.Lease{}
		switch err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, lease); {
		case err == nil:
			keep(c, &e, lease)
		case kube.IgnoreNotFound(err) != nil:
			e.Missing = append(e.Missing, Gap{"lease " + name, err})
		}
	}
	customResources(ctx, c, &e, namespace, cluster)
	nodes(ctx, c, &e)
	return e
}

// customResources reads the custom resources of a cluster whose record says that it is
// under one: everywhere else there may be no such kinds.
func customResources(ctx context.Context, c *kube.Client, e *Evidence, namespace, cluster string) {
	if !slices.ContainsFunc(e.Objects, func(o client.Object) bool {
		m, ok := o.(*corev1.ConfigMap)
		return ok && m.Name == v1alpha1.Record(cluster) && m.Annotations[v1alpha1.AnnotationCustom] != ""
	}) {
		return
	}
	switch custom, err := (store.CustomResources{Client: c}).GetCustom(ctx, namespace, cluster); {
	case err == nil:
		keep(c, e, custom)
	case kube.IgnoreNotFound(err) != nil:
		e.Missing = append(e.Missing, Gap{"databasecluster " + cluster, err})
	}
	gather(ctx, c, e, &v1alpha1.DatabaseBackupList{}, func(o client.Object) bool {
		b, ok := o.(*v1alpha1.DatabaseBackup)
		return ok && b.Spec.Cluster == cluster
	}, client.InNamespace(namespace))
}

// concerns reports whether a name is the cluster's, a member's, or a pod's or helper's of it.
func concerns(name, cluster string) bool {
	rest, ok := strings.CutPrefix(name, cluster)
	return ok && (rest == "" || strings.HasPrefix(rest, ".dbop") || strings.HasPrefix(rest, "-"))
}

func gather(ctx context.Context, c *kube.Client, e *Evidence, list client.ObjectList, fits func(client.Object) bool,
	opts ...client.ListOption) {
	err := c.API.List(ctx, list, opts...)
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			if o, ok := item.(client.Object); ok && fits(o) {
				keep(c, e, o)
			}
			return nil
		})
	}
	if err != nil {
		e.Missing = append(e.Missing, Gap{kube.ResourceOf(c.API, list), err})
	}
}

// keep notes an object with its kind, which lists leave out.
func keep(c *kube.Client, e *Evidence, o client.Object) {
	if gvk, err := apiutil.GVKForObject(o, c.API.Scheme()); err == nil {
		o.GetObjectKind().SetGroupVersionKind(gvk)
	}
	e.Objects = append(e.Objects, o)
}

// nodes reads of the nodes that run the cluster what says how they are.
func nodes(ctx context.Context, c *kube.Client, e *Evidence) {
	var names []string
	for _, o := range e.Objects {
		if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName != "" && !slices.Contains(names, p.Spec.NodeName) {
			names = append(names, p.Spec.NodeName)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		n := &corev1.Node{}
		if err := c.API.Get(ctx, client.ObjectKey{Name: name}, n); err != nil {
			e.Missing = append(e.Missing, Gap{"node " + name, err})
			continue
		}
		short := &corev1.Node{Status: corev1.NodeStatus{Conditions: n.Status.Conditions, Capacity: n.Status.Capacity,
			Allocatable: n.Status.Allocatable, NodeInfo: n.Status.NodeInfo}}
		short.Name, short.CreationTimestamp, short.Spec.Taints, short.Spec.Unschedulable = n.Name, n.CreationTimestamp,
			n.Spec.Taints, n.Spec.Unschedulable
		keep(c, e, short)
	}
}
