// Package preflight asks what a namespace offers to a cluster that is to be
// created.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Report is what a namespace offers to a cluster that is to be. It is plain
// data: what could not be read is said to be unknown, and nothing is judged.
type Report struct {
	Namespace Namespace `json:"namespace"`
	// Missing are those of Rights that the user lacks.
	Missing []Right `json:"missing,omitempty"`
	Classes Classes `json:"storageClasses"`
	// Quotas of the namespace, by name, with what they bound; QuotasUnknown
	// says why they could not be read.
	Quotas        []string `json:"quotas,omitempty"`
	QuotasUnknown string   `json:"quotasUnknown,omitempty"`
	// Limits of the namespace's LimitRanges; LimitsUnknown says why they could
	// not be read.
	Limits        []Limit `json:"limits,omitempty"`
	LimitsUnknown string  `json:"limitsUnknown,omitempty"`
	// Claim is the claim of the repository that was asked for; nil if none was.
	Claim *Claim `json:"claim,omitempty"`
}

// Namespace is where the cluster would be.
type Namespace struct {
	Name        string `json:"name"`
	Exists      bool   `json:"exists"`
	Terminating bool   `json:"terminating"`
	// PodSecurity is the enforced level, "" if none is set.
	PodSecurity string `json:"podSecurity,omitempty"`
	// Unknown says why it could not be read; it is no proof of absence.
	Unknown string `json:"unknown,omitempty"`
}

// Classes are the storage classes of the Kubernetes cluster.
type Classes struct {
	// Names of all, sorted.
	Names []string `json:"names,omitempty"`
	// Default is what a claim without a class gets, "" if nothing.
	Default string `json:"default,omitempty"`
	// Expandable is true if volumes of the default class can grow.
	Expandable bool `json:"expandable"`
	// Unknown says why they could not be read: they belong to no namespace.
	Unknown string `json:"unknown,omitempty"`
}

// Claim is a PersistentVolumeClaim that keeps backups.
type Claim struct {
	Name   string `json:"name"`
	Exists bool   `json:"exists"`
	// Unknown says why it could not be read.
	Unknown string `json:"unknown,omitempty"`
}

const (
	// podSecurityLevel is the label that enforces a Pod Security Standard.
	podSecurityLevel = "pod-security.kubernetes.io/enforce"
	// defaultClass marks the class of claims that name none.
	defaultClass = "storageclass.kubernetes.io/is-default-class"
	// atOnce bounds the reviews under way: there are dozens.
	atOnce = 10
)

// Check asks what a namespace offers, and writes nothing. claim is the
// name of a claim to ask for, "" for none. Missing rights to read are data;
// an error is an API server that does not answer.
func Check(ctx context.Context, c *kube.Client, namespace, claim string) (Report, error) {
	p := Report{Namespace: Namespace{Name: namespace}}
	g, bounded := errgroup.WithContext(ctx)
	g.Go(func() error { return readNamespace(bounded, c, &p.Namespace) })
	g.Go(func() error { return readClasses(bounded, c, &p.Classes) })
	g.Go(func() error { return readQuotas(bounded, c, namespace, &p) })
	g.Go(func() error { return readLimits(bounded, c, namespace, &p) })
	g.Go(func() (err error) { p.Missing, err = missing(bounded, c, namespace); return err })
	if claim != "" {
		p.Claim = &Claim{Name: claim}
		g.Go(func() error { return readClaim(bounded, c, namespace, p.Claim) })
	}
	if err := g.Wait(); err != nil {
		return Report{}, fmt.Errorf("ask what namespace %s offers: %w", namespace, err)
	}
	return p, nil
}

// Unreadable returns a missing right as data.
func Unreadable(err error) (string, error) {
	if refused, ok := errors.AsType[*kube.ForbiddenError](err); ok {
		return refused.Error(), nil
	}
	return "", err
}

func readNamespace(ctx context.Context, c *kube.Client, n *Namespace) error {
	ns := &corev1.Namespace{}
	err := c.API.Get(ctx, client.ObjectKey{Name: n.Name}, ns)
	if errors.Is(err, kube.ErrNotFound) {
		return nil
	}
	if err != nil {
		n.Unknown, err = Unreadable(err)
		return err
	}
	n.Exists, n.Terminating, n.PodSecurity = true, ns.DeletionTimestamp != nil, ns.Labels[podSecurityLevel]
	return nil
}

// readClasses finds the default class: of several the newest, as the API server does.
func readClasses(ctx context.Context, c *kube.Client, out *Classes) error {
	var list storagev1.StorageClassList
	err := c.API.List(ctx, &list)
	if err != nil {
		out.Unknown, err = Unreadable(err)
		return err
	}
	var chosen *storagev1.StorageClass
	for i := range list.Items {
		class := &list.Items[i]
		out.Names = append(out.Names, class.Name)
		if class.Annotations[defaultClass] == "true" &&
			(chosen == nil || chosen.CreationTimestamp.Before(&class.CreationTimestamp)) {
			chosen = class
		}
	}
	slices.Sort(out.Names)
	if chosen != nil {
		out.Default = chosen.Name
		out.Expandable = chosen.AllowVolumeExpansion != nil && *chosen.AllowVolumeExpansion
	}
	return nil
}

func readQuotas(ctx context.Context, c *kube.Client, namespace string, p *Report) error {
	var list corev1.ResourceQuotaList
	err := c.API.List(ctx, &list, client.InNamespace(namespace))
	if err != nil {
		p.QuotasUnknown, err = Unreadable(err)
		return err
	}
	for i := range list.Items {
		q := &list.Items[i]
		var bounds []string
		for name, hard := range q.Status.Hard {
			used := q.Status.Used[name]
			bounds = append(bounds, fmt.Sprintf("%s %s of %s", name, used.String(), hard.String()))
		}
		slices.Sort(bounds)
		p.Quotas = append(p.Quotas, q.Name+": "+strings.Join(bounds, ", "))
	}
	slices.Sort(p.Quotas)
	return nil
}

func readClaim(ctx context.Context, c *kube.Client, namespace string, out *Claim) error {
	err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: out.Name}, &corev1.PersistentVolumeClaim{})
	if errors.Is(err, kube.ErrNotFound) {
		return nil
	}
	if err != nil {
		out.Unknown, err = Unreadable(err)
		return err
	}
	out.Exists = true
	return nil
}

// missing asks for each right by itself: a list of rules, which would be one
// request, is incomplete wherever rights come from elsewhere than RBAC.
func missing(ctx context.Context, c *kube.Client, namespace string) ([]Right, error) {
	all := Rights()
	denied := make([]bool, len(all))
	g, bounded := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, right := range all {
		g.Go(func() error {
			allowed, err := may(bounded, c, namespace, right)
			denied[i] = !allowed
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []Right
	for i, right := range all {
		if denied[i] {
			out = append(out, right)
		}
	}
	return out, nil
}

func may(ctx context.Context, c *kube.Client, namespace string, r Right) (bool, error) {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: r.Verb, Group: r.Group,
			Resource: resource, Subresource: sub}}}
	if err := c.API.Create(ctx, review); err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// FindNamespace returns a NamespaceError if there is none of that name. Without
// the right to read namespaces it returns nil.
func FindNamespace(ctx context.Context, c *kube.Client, name string) error {
	n := Namespace{Name: name}
	if err := readNamespace(ctx, c, &n); err != nil {
		return err
	}
	if !n.Exists && n.Unknown == "" {
		return &kube.NamespaceError{Namespace: name}
	}
	return nil
}
