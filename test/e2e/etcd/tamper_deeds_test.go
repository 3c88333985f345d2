//go:build e2e

package etcd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keptBy is a finalizer of something else.
const keptBy = "example.com/kept"

// deed is what somebody does to an object by kubectl.
type deed struct {
	title string
	do    func(*tampering)
	// harmless: it changes nothing that the tool set.
	harmless bool
}

// deeds are all that can be done to an object.
func (o tampered) deeds() []deed {
	remove := func(x *tampering) { x.mustKubectl("delete", x.object.kind, x.object.name, "--wait=false") }
	out := []deed{
		{title: "labels removed", do: func(x *tampering) { x.patch(`{"metadata":{"labels":null}}`) }},
		{title: "finalizer added", do: (*tampering).keep, harmless: true},
	}
	if !o.undeletable {
		out = append(out,
			deed{title: "deleted", do: remove},
			deed{title: "owned by what is deleted", do: (*tampering).orphan},
			deed{title: "deleted with a finalizer", do: func(x *tampering) { x.keep(); remove(x) }})
	}
	for _, what := range slices.Sorted(maps.Keys(o.edits)) {
		out = append(out, deed{title: what + " edited", do: func(x *tampering) { x.patch(o.edits[what]) }})
	}
	return out
}

// patch edits the object. A strategic patch keeps the rest of a list; custom resources know none.
func (x *tampering) patch(patch string) {
	x.Helper()
	kind := "merge"
	if strings.Contains(patch, "$setElementOrder") {
		kind = "strategic"
	}
	x.mustKubectl("patch", x.object.kind, x.object.name, "--type", kind, "-p", patch)
}

// orphan makes the object depend on another one, and deletes that. An operator
// may put the object back before it is deleted with its owner.
func (x *tampering) orphan() {
	x.Helper()
	x.mustKubectl("create", "configmap", "owner")
	uid := x.kubectl("get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}").Stdout
	x.patch(fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q}]}}`, uid))
	x.mustKubectl("delete", "configmap", "owner")
	x.within(podWithin, "the garbage collector to delete the object", func() error {
		owned := func(r metav1.OwnerReference) bool { return string(r.UID) == uid }
		now := x.look()
		if x.driver == byOperator && !slices.ContainsFunc(now.OwnerReferences, owned) {
			return nil
		}
		if now.UID == x.before.UID && now.DeletionTimestamp == nil {
			return fmt.Errorf("%s %s is still there", x.object.kind, x.object.name)
		}
		return nil
	})
}

// keep gives the object a finalizer that nothing but this test removes.
func (x *tampering) keep() {
	x.Helper()
	x.finalizers(append(slices.Clone(x.before.Finalizers), keptBy))
}

// giveUp removes that finalizer again, if there is still the same object.
func (x *tampering) giveUp() {
	x.Helper()
	if now := x.look(); slices.Contains(now.Finalizers, keptBy) {
		x.finalizers(slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == keptBy }))
	}
}

func (x *tampering) finalizers(all []string) {
	x.Helper()
	list, err := json.Marshal(all)
	x.ok(err)
	x.patch(fmt.Sprintf(`{"metadata":{"finalizers":%s}}`, list))
}
