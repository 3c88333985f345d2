package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// DifferenceKind says in which way an object is not as this tool made it.
type DifferenceKind string

// The kinds.
const (
	// DifferenceMissing is an object that does not exist.
	DifferenceMissing DifferenceKind = "Missing"
	// DifferenceEdited is a field with another value, or without one.
	DifferenceEdited DifferenceKind = "Edited"
	// DifferenceAdded is a field that this tool does not set.
	DifferenceAdded DifferenceKind = "Added"
	// DifferenceOwner is an owner: the object is deleted together with it.
	DifferenceOwner DifferenceKind = "Owner"
	// DifferenceFinalizer is a finalizer: a deletion waits for whoever set it.
	DifferenceFinalizer DifferenceKind = "Finalizer"
	// DifferenceTerminating is an object that is being deleted.
	DifferenceTerminating DifferenceKind = "Terminating"
	// DifferenceUnusable is a secret whose content can't be used.
	DifferenceUnusable DifferenceKind = "Unusable"
)

// Difference is one way in which what is there is not as this tool made it.
type Difference struct {
	// Object as kind/name, for example "service/my-db-client".
	Object string `json:"object"`
	// Member that the object is of, "" for an object of the whole cluster.
	Member string         `json:"member,omitempty"`
	Kind   DifferenceKind `json:"kind"`
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

// reference is kind/name of an object.
func reference(kind, name string) string { return strings.ToLower(kind) + "/" + name }

// comparison compares one object with what this tool renders.
type comparison struct {
	object, member string
	// added are the fields below which nobody else may set one.
	added []string
	// besides are fields below those that do not count.
	besides []string
	// exact are fields that have to be as they are wanted, no less and no more,
	// whoever set them.
	exact []string
	// unknown says that the values below added are of another version of this
	// tool: only who set them tells whether they were changed.
	unknown bool
}

// differences is pure. A field that another value was found in counts only if
// this tool does not own it any more: what admission changed was changed in
// the tool's own request, and would be again. Objects without managed fields
// are compared by value alone.
func (c comparison) differences(want, have client.Object) []Difference {
	wanted, found := content(want), content(have)
	owners := ownersOf(have.GetManagedFields())
	var out []Difference
	note := func(kind DifferenceKind, path fieldPath, want, have any) {
		d := Difference{Object: c.object, Member: c.member, Kind: kind, Field: path.String(), Want: text(want), Have: text(have)}
		if who, ok := owners.other(path); ok {
			d.By, d.Since = who.manager, who.since
		}
		out = append(out, d)
	}
	for _, top := range []string{"labels", "annotations"} {
		unlike(fieldPath{"metadata", top}, at(wanted, "metadata", top), at(found, "metadata", top), owners.counts(note))
	}
	for _, field := range slices.Sorted(maps.Keys(wanted)) {
		switch {
		case slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, field):
		case !slices.Contains(c.exact, field):
			unlike(fieldPath{field}, wanted[field], found[field], owners.counts(note))
		case !reflect.DeepEqual(wanted[field], found[field]):
			note(DifferenceEdited, fieldPath{field}, wanted[field], found[field])
		}
	}
	c.replacedMaps(owners, wanted, found, func(path fieldPath, want, have any) {
		if !slices.ContainsFunc(out, func(d Difference) bool { return d.Is(path.String()) }) {
			note(DifferenceEdited, path, want, have)
		}
	})
	for _, path := range c.additions(owners, wanted) {
		kind := DifferenceAdded
		if c.unknown {
			kind = DifferenceEdited
		}
		have := value(found, path)
		if !byDefault(path, have) && !slices.ContainsFunc(out, func(d Difference) bool { return d.Field == path.String() }) {
			note(kind, path, nil, have)
		}
	}
	return append(out, c.endings(want, have)...)
}

// additions are the fields that somebody else set and this tool does not, each
// as the shortest path that what is wanted does not have.
func (c comparison) additions(owners fieldOwners, wanted map[string]any) []fieldPath {
	var out []fieldPath
	for _, leaf := range owners.foreign {
		if !leaf.below(c.added) || leaf.below(c.besides) {
			continue
		}
		path := leaf
		for n := 2; n < len(leaf); n++ {
			if value(wanted, leaf[:n]) == nil {
				path = leaf[:n]
				break
			}
		}
		if !c.unknown && value(wanted, path) != nil {
			continue // its value was compared
		}
		if !slices.ContainsFunc(out, func(p fieldPath) bool { return p.String() == path.String() }) {
			out = append(out, path)
		}
	}
	return out
}

// byDefault reports whether the API server gives a field that value by itself.
// A person who applies an exported object sets it, and changes nothing.
func byDefault(path fieldPath, have any) bool {
	set, known := map[string]string{
		"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log", "successThreshold": "1",
		"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
		"persistentVolumeClaimRetentionPolicy": `{"whenDeleted":"Retain","whenScaled":"Retain"}`,
	}[path[len(path)-1]]
	return known && text(have) == set
}

// endings are owners, finalizers and a deletion.
func (c comparison) endings(want, have client.Object) []Difference {
	var out []Difference
	for _, o := range foreignOwners(want, have) {
		out = append(out, Difference{Object: c.object, Member: c.member, Kind: DifferenceOwner, Field: "metadata.ownerReferences", Have: reference(o.Kind, o.Name)})
	}
	for _, f := range foreignFinalizers(have) {
		out = append(out, Difference{Object: c.object, Member: c.member, Kind: DifferenceFinalizer, Field: "metadata.finalizers", Have: f})
	}
	if at := have.GetDeletionTimestamp(); at != nil {
		out = append(out, Difference{Object: c.object, Member: c.member, Kind: DifferenceTerminating, Since: at.Time})
	}
	return out
}

// foreignOwners are the owners that this tool did not set.
func foreignOwners(want, have client.Object) []metav1.OwnerReference {
	ours := want.GetOwnerReferences()
	return slices.DeleteFunc(slices.Clone(have.GetOwnerReferences()), func(o metav1.OwnerReference) bool {
		return slices.ContainsFunc(ours, func(w metav1.OwnerReference) bool { return w.UID == o.UID })
	})
}

// foreignFinalizers are those that are not of Kubernetes itself.
func foreignFinalizers(have client.Object) []string {
	return slices.DeleteFunc(slices.Clone(have.GetFinalizers()), func(f string) bool {
		domain, _, named := strings.Cut(f, "/")
		return !named || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io")
	})
}

// missing is the difference of an object that does not exist.
func missing(kind, name, member string) Difference {
	return Difference{Object: reference(kind, name), Member: member, Kind: DifferenceMissing}
}

// content is an object as the API server reads and writes it, without nulls.
func content(o client.Object) map[string]any {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return map[string]any{} // all our types convert
	}
	return pruned(m)
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
