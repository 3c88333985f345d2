// Package drift compares objects with what this tool renders, field by field. It
// makes no request.
package drift

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind says in which way an object is not as this tool made it.
type Kind string

// The kinds.
const (
	// Missing is an object that does not exist.
	Missing Kind = "Missing"
	// Edited is a field with another value, or without one.
	Edited Kind = "Edited"
	// Added is a field that this tool does not set.
	Added Kind = "Added"
	// Owner is an owner: the object is deleted together with it.
	Owner Kind = "Owner"
	// Finalizer is a finalizer: a deletion waits for those who set it.
	Finalizer Kind = "Finalizer"
	// Terminating is an object that is being deleted.
	Terminating Kind = "Terminating"
	// Unusable is a secret whose content can't be used.
	Unusable Kind = "Unusable"
)

// Difference is one way in which what is there is not as this tool made it.
type Difference struct {
	// Object as kind/name, for example "service/my-db-client".
	Object string `json:"object"`
	// Member that the object is of, "" for an object of the whole cluster.
	Member string `json:"member,omitempty"`
	Kind   Kind   `json:"kind"`
	// Field that differs, for example "spec.selector.role".
	Field string `json:"field,omitempty"`
	// Want is the value that this tool sets, "" for none or if it is not known; Have what is there.
	Want string `json:"want,omitempty"`
	Have string `json:"have,omitempty"`
	// By is the field manager that changed it, Since when; "" and zero where nothing tells.
	By    string    `json:"by,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// Is reports whether the difference is in the field or below it.
func (d Difference) Is(field string) bool {
	rest, ok := strings.CutPrefix(d.Field, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Template reports whether the pods that are made from now on are not as this tool renders them.
func (d Difference) Template() bool { return d.Is("spec.template") }

// Reference is kind/name of an object.
func Reference(kind, name string) string { return strings.ToLower(kind) + "/" + name }

// Comparison compares one object with what this tool renders.
type Comparison struct {
	Object, Member string
	// Added are the fields below which nobody else may set one.
	Added []string
	// besides are fields below those that do not count.
	besides []string
	// exact are fields that have to be as they are wanted, no less and no more,
	// who set them.
	exact []string
	// Unknown says that the values below added are of another version of this
	// tool: only who set them tells whether they were changed.
	Unknown bool
}

// Differences is pure. A field that another value was found in counts only if
// this tool does not own it any more: what admission changed was changed in
// the tool's own request, and would be again. Objects without managed fields
// are compared by value alone.
func (c Comparison) Differences(want, have client.Object) []Difference {
	wanted, found := Content(want), Content(have)
	owners := OwnersOf(have.GetManagedFields())
	var out []Difference
	note := func(kind Kind, path Path, want, have any) {
		d := Difference{Object: c.Object, Member: c.Member, Kind: kind, Field: path.String(), Want: text(want),
			Have: text(have)}
		if who, ok := owners.Other(path); ok {
			d.By, d.Since = who.Manager, who.Since
		}
		out = append(out, d)
	}
	for _, top := range []string{"labels", "annotations"} {
		unlike(Path{"metadata", top}, at(wanted, "metadata", top), at(found, "metadata", top), owners.counts(note))
	}
	for _, field := range slices.Sorted(maps.Keys(wanted)) {
		switch {
		case slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, field):
		case !slices.Contains(c.exact, field):
			unlike(Path{field}, wanted[field], found[field], owners.counts(note))
		case !reflect.DeepEqual(wanted[field], found[field]):
			note(Edited, Path{field}, wanted[field], found[field])
		}
	}
	c.replacedMaps(owners, wanted, found, func(path Path, want, have any) {
		if !slices.ContainsFunc(out, func(d Difference) bool { return d.Is(path.String()) }) {
			note(Edited, path, want, have)
		}
	})
	for _, path := range c.Additions(owners, wanted) {
		kind := Added
		if c.Unknown {
			kind = Edited
		}
		have := value(found, path)
		if !byDefault(path, have) && !slices.ContainsFunc(out,
			func(d Difference) bool { return d.Field == path.String() }) {
			note(kind, path, nil, have)
		}
	}
	return append(out, c.endings(want, have)...)
}

// Additions are the fields that somebody else set and this tool does not, each
// as the shortest path that what is wanted does not have.
func (c Comparison) Additions(owners fieldOwners, wanted map[string]any) []Path {
	var out []Path
	for _, leaf := range owners.foreign {
		if !leaf.below(c.Added) || leaf.below(c.besides) {
			continue
		}
		path := leaf
		for n := 2; n < len(leaf); n++ {
			if value(wanted, leaf[:n]) == nil {
				path = leaf[:n]
				break
			}
		}
		if !c.Unknown && value(wanted, path) != nil {
			continue // its value was compared
		}
		if !slices.ContainsFunc(out, func(p Path) bool { return p.String() == path.String() }) {
			out = append(out, path)
		}
	}
	return out
}

// byDefault reports whether the API server gives a field that value by itself.
// A person who applies an exported object sets it, and changes nothing.
func byDefault(path Path, have any) bool {
	set, known := map[string]string{
		"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log", "successThreshold": "1",
		"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
		"persistentVolumeClaimRetentionPolicy": `{"whenDeleted":"Retain","whenScaled":"Retain"}`,
	}[path[len(path)-1]]
	return known && text(have) == set
}

// endings are owners, finalizers and a deletion.
func (c Comparison) endings(want, have client.Object) []Difference {
	var out []Difference
	for _, o := range ForeignOwners(want, have) {
		out = append(out, Difference{Object: c.Object, Member: c.Member, Kind: Owner, Field: "metadata.ownerReferences",
			Have: Reference(o.Kind, o.Name)})
	}
	for _, f := range ForeignFinalizers(have) {
		out = append(out, Difference{Object: c.Object, Member: c.Member, Kind: Finalizer, Field: "metadata.finalizers",
			Have: f})
	}
	if at := have.GetDeletionTimestamp(); at != nil {
		out = append(out, Difference{Object: c.Object, Member: c.Member, Kind: Terminating, Since: at.Time})
	}
	return out
}

// ForeignOwners are the owners that this tool did not set.
func ForeignOwners(want, have client.Object) []metav1.OwnerReference {
	ours := want.GetOwnerReferences()
	return slices.DeleteFunc(slices.Clone(have.GetOwnerReferences()), func(o metav1.OwnerReference) bool {
		return slices.ContainsFunc(ours, func(w metav1.OwnerReference) bool { return w.UID == o.UID })
	})
}

// ForeignFinalizers are those that are not of Kubernetes itself.
func ForeignFinalizers(have client.Object) []string {
	return slices.DeleteFunc(slices.Clone(have.GetFinalizers()), func(f string) bool {
		domain, _, named := strings.Cut(f, "/")
		return !named || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io")
	})
}

// MissingObject is the difference of an object that does not exist.
func MissingObject(kind, name, member string) Difference {
	return Difference{Object: Reference(kind, name), Member: member, Kind: Missing}
}

// Content is an object as the API server reads and writes it, without nulls.
func Content(o client.Object) map[string]any {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return map[string]any{} // all our types convert
	}
	return Prune(m)
}

// text is a value for people.
func text(v any) string {
	if v == nil {
		return ""
	}
	if s, ok := v.(string); ok {
		return s
	}
	out, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(out)
}

// Prune drops nulls, which Go's types write for unset times: applied, they
// would claim fields that we have no opinion on.
func Prune(content map[string]any) map[string]any {
	for k, v := range content {
		switch v := v.(type) {
		case nil:
			delete(content, k)
		case map[string]any:
			Prune(v)
		case []any:
			for _, e := range v {
				if m, ok := e.(map[string]any); ok {
					Prune(m)
				}
			}
		}
	}
	return content
}

// ComparisonOf is how objects of that kind are compared.
func ComparisonOf(o client.Object) Comparison {
	switch o := o.(type) {
	case *corev1.Service:
		if len(o.Spec.Selector) == 0 {
			return Comparison{} // the agents of the cluster write it
		}
		return Comparison{Added: []string{"spec.selector"}}
	case *policyv1.PodDisruptionBudget:
		return Comparison{Added: []string{"spec.selector", "spec.maxUnavailable"}}
	case *appsv1.StatefulSet:
		// Annotations and labels that others add to pods change no database.
		return Comparison{Added: []string{"spec"}, besides: []string{"spec.template.metadata"}}
	case *batchv1.CronJob:
		return Comparison{Added: []string{"spec"}, besides: []string{"spec.suspend", "spec.jobTemplate.metadata",
			"spec.jobTemplate.spec.template.metadata"}}
	case *rbacv1.Role:
		return Comparison{exact: []string{"rules"}}
	case *rbacv1.RoleBinding:
		return Comparison{exact: []string{"subjects", "roleRef"}}
	}
	return Comparison{}
}

// Of is the comparison of one object.
func (c Comparison) Of(kind, name, member string) Comparison {
	c.Object, c.Member = Reference(kind, name), member
	return c
}
