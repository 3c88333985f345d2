package drift

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Path leads to a field: names of fields, and "[key]" for an element of a list.
type Path []string

// String is the path as people write it: "spec.containers[etcd].image".
func (p Path) String() string {
	var b strings.Builder
	for i, e := range p {
		if i > 0 && !strings.HasPrefix(e, "[") {
			b.WriteByte('.')
		}
		b.WriteString(e)
	}
	return b.String()
}

// and returns the path with one more element.
func (p Path) and(e string) Path { return append(slices.Clone(p), e) }

// below reports whether the path is one of the fields, or below one.
func (p Path) below(fields []string) bool {
	for n := 1; n <= len(p); n++ {
		if slices.Contains(fields, p[:n].String()) {
			return true
		}
	}
	return false
}

// author is who set a field, and when.
type author struct {
	Manager string
	Since   time.Time
}

// fieldOwners tells who set which field of one object. Kubernetes' own
// controllers, and what is written to status, are left out.
type fieldOwners struct {
	// Known is false for an object that has no managed fields at all.
	Known  bool
	ours   map[string]bool
	theirs map[string]author
	// foreign are the fields in theirs.
	foreign []Path
}

// Controllers is the manager as which the workloads' own controllers write.
const Controllers = "kube-controller-manager"

// OwnersOf reads who owns which field of an object. It knows nothing of an object
// without entries.
func OwnersOf(entries []metav1.ManagedFieldsEntry) fieldOwners {
	o := fieldOwners{Known: len(entries) > 0, ours: map[string]bool{}, theirs: map[string]author{}}
	for _, e := range entries {
		if e.FieldsV1 == nil || e.Subresource == "status" || e.Manager == Controllers {
			continue
		}
		var fields map[string]any
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
			continue // the API server checks what it stores
		}
		who := author{Manager: e.Manager}
		if e.Time != nil {
			who.Since = e.Time.Time
		}
		leaves(nil, fields, func(p Path) {
			if e.Manager == v1alpha1.FieldManager {
				o.ours[p.String()] = true
				return
			}
			o.theirs[p.String()] = who
			o.foreign = append(o.foreign, p)
		})
	}
	return o
}

// leaves calls note for every field of a set that has none below it.
func leaves(path Path, fields map[string]any, note func(Path)) {
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		kind, name, _ := strings.Cut(k, ":")
		if kind != "f" {
			name = "[" + listKey(kind, name) + "]"
		}
		if kind == "." {
			continue
		}
		below, _ := fields[k].(map[string]any)
		if _, whole := below["."]; len(below) == 0 || whole && len(below) == 1 {
			note(path.and(name))
			continue
		}
		leaves(path.and(name), below, note)
	}
}

// listKey is the key of a list's element: the values of its key fields.
func listKey(kind, raw string) string {
	var key map[string]any
	if kind != "k" || json.Unmarshal([]byte(raw), &key) != nil {
		return strings.Trim(raw, `"`)
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(key)) {
		parts = append(parts, fmt.Sprint(key[k]))
	}
	return strings.Join(parts, "/")
}

// Other returns who else set the field, or the one that it is below.
func (o fieldOwners) Other(p Path) (author, bool) {
	for n := len(p); n > 0; n-- {
		if who, ok := o.theirs[p[:n].String()]; ok {
			return who, true
		}
	}
	for _, leaf := range o.foreign {
		if leaf.below([]string{p.String()}) {
			return o.theirs[leaf.String()], true
		}
	}
	return author{}, false
}

// counts leaves out the fields that this tool still owns.
func (o fieldOwners) counts(note func(Kind, Path, any, any)) func(Path, any, any) {
	return func(p Path, want, have any) {
		if !o.Known || !o.Owns(p) {
			note(Edited, p, want, have)
		}
	}
}

// Owns reports whether this tool set the field, or the one that it is below, last.
func (o fieldOwners) Owns(p Path) bool {
	for n := len(p); n > 0; n-- {
		if o.ours[p[:n].String()] {
			return true
		}
	}
	return false
}
