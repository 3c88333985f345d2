// Package external reads what exists of databases that something else made. It
// writes nothing.
package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
)

// Cluster is what exists of a database that something else made. It is plain
// data, read and never written.
type Cluster struct {
	Namespace string `json:"namespace"`
	// Found says where the pods come from: "statefulset/etcd", "selector app=etcd".
	Found string `json:"found"`
	// Cluster is the name, if it is one of ours after all.
	Cluster string `json:"cluster,omitempty"`
	Pods    []Pod  `json:"pods"`
	// Budgets are the disruption budgets that cover the pods; BudgetsUnknown
	// says why they could not be read.
	Budgets        []string `json:"budgets,omitempty"`
	BudgetsUnknown string   `json:"budgetsUnknown,omitempty"`
}

// Pod is one pod that may be a member.
type Pod struct {
	observe.Pod
	Name string `json:"name"`
	// Hosts are the names under which a certificate may know it.
	Hosts []string `json:"hosts,omitempty"`
	// Spread is true if it keeps away from others of its kind.
	Spread bool `json:"spread"`
	// Spec as it runs.
	Spec corev1.PodSpec `json:"-"`
}

// Query says what to find; one of the three.
type Query struct {
	// Name of a StatefulSet, or of a cluster of ours.
	Name     string
	Selector string
	Pods     []string
}

// Find finds the pods of a database.
func Find(ctx context.Context, c *kube.Client, namespace string, q Query) (Cluster, error) {
	out := Cluster{Namespace: namespace}
	pods, err := outsidePods(ctx, c, q, &out)
	if err != nil {
		return out, err
	}
	now := c.Now()
	for i := range pods {
		p := &pods[i]
		out.Pods = append(out.Pods, Pod{Pod: observe.PodFacts(p, now), Name: p.Name, Hosts: podHosts(p),
			Spread: spreads(p.Spec), Spec: p.Spec})
	}
	slices.SortFunc(out.Pods, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	return out, outsideBudgets(ctx, c, namespace, pods, &out)
}

func outsidePods(ctx context.Context, c *kube.Client, q Query, out *Cluster) ([]corev1.Pod, error) {
	switch {
	case len(q.Pods) > 0:
		out.Found = "endpoints"
		var all []corev1.Pod
		for _, name := range q.Pods {
			p := corev1.Pod{}
			if err := c.API.Get(ctx, client.ObjectKey{Namespace: out.Namespace, Name: name}, &p); err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		return all, nil
	case q.Selector != "":
		out.Found = "selector " + q.Selector
		selector, err := labels.Parse(q.Selector)
		if err != nil {
			return nil, fmt.Errorf("read label selector %q: %w", q.Selector, err)
		}
		return labelled(ctx, c, out.Namespace, selector)
	}
	return namedPods(ctx, c, q.Name, out)
}

// namedPods are those of a StatefulSet, else of a cluster of ours.
func namedPods(ctx context.Context, c *kube.Client, name string, out *Cluster) ([]corev1.Pod, error) {
	set := &appsv1.StatefulSet{}
	err := c.API.Get(ctx, client.ObjectKey{Namespace: out.Namespace, Name: name}, set)
	if errors.Is(err, kube.ErrNotFound) {
		selector := labels.SelectorFromSet(labels.Set{v1alpha1.LabelCluster: name,
			kube.LabelComponent: kube.ComponentDatabase})
		pods, listed := labelled(ctx, c, out.Namespace, selector)
		if listed != nil {
			return nil, listed
		}
		if len(pods) == 0 {
			return nil, err
		}
		out.Found, out.Cluster = "cluster "+name, name
		return pods, nil
	}
	if err != nil {
		return nil, err
	}
	out.Found, out.Cluster = "statefulset/"+name, set.Labels[v1alpha1.LabelCluster]
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of StatefulSet %s: %w", name, err)
	}
	pods, err := labelled(ctx, c, out.Namespace, selector)
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, set) }), err
}

func labelled(ctx context.Context, c *kube.Client, namespace string, selector labels.Selector) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := c.API.List(ctx, &list, client.InNamespace(namespace),
		client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// outsideBudgets names what covers all of the pods: one that covers some of them protects no quorum.
func outsideBudgets(ctx context.Context, c *kube.Client, namespace string, pods []corev1.Pod, out *Cluster) error {
	var list policyv1.PodDisruptionBudgetList
	err := c.API.List(ctx, &list, client.InNamespace(namespace))
	if err != nil {
		out.BudgetsUnknown, err = preflight.Unreadable(err)
		return err
	}
	for i := range list.Items {
		b := &list.Items[i]
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || len(pods) == 0 {
			continue
		}
		if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !selector.Matches(labels.Set(p.Labels)) }) {
			out.Budgets = append(out.Budgets, b.Name)
		}
	}
	return nil
}

// podHosts are the names by which peers and clients may dial a pod.
func podHosts(p *corev1.Pod) []string {
	hosts := []string{p.Name, "localhost", "127.0.0.1"}
	if p.Status.PodIP != "" {
		hosts = append(hosts, p.Status.PodIP)
	}
	host, service := cmp.Or(p.Spec.Hostname, p.Name), p.Spec.Subdomain
	if service == "" {
		return hosts
	}
	for _, base := range []string{host + "." + service, service} {
		for _, suffix := range []string{"", "." + p.Namespace, "." + p.Namespace + ".svc", "." + p.Namespace +
			".svc.cluster.local"} {
			hosts = append(hosts, base+suffix)
		}
	}
	return hosts
}

func spreads(s corev1.PodSpec) bool {
	if len(s.TopologySpreadConstraints) > 0 {
		return true
	}
	if s.Affinity == nil || s.Affinity.PodAntiAffinity == nil {
		return false
	}
	a := s.Affinity.PodAntiAffinity
	return len(a.RequiredDuringSchedulingIgnoredDuringExecution)+len(a.PreferredDuringSchedulingIgnoredDuringExecution) > 0
}
