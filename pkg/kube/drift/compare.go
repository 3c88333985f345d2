package drift

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// unlike calls note for every field of want that have has with another value,
// or not at all. What have has besides does not count. Quantities are
// compared by value.
func unlike(path Path, want, have any, note func(path Path, want, have any)) {
	switch w := want.(type) {
	case nil:
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok && len(w) > 0 {
			note(path, want, have)
			return
		}
		for _, k := range slices.Sorted(maps.Keys(w)) {
			unlike(path.and(k), w[k], h[k], note)
		}
	case []any:
		h, ok := have.([]any)
		if !ok && len(w) > 0 {
			note(path, want, have)
			return
		}
		unlikeList(path, w, h, note)
	default:
		if !sameValue(want, have) {
			note(path, want, have)
		}
	}
}

// unlikeList compares elements that have keys one by one, and other lists as a whole.
func unlikeList(path Path, want, have []any, note func(path Path, want, have any)) {
	for _, w := range want {
		key := elementKey(w)
		if key == "" {
			break
		}
		i := slices.IndexFunc(have, func(h any) bool { return elementKey(h) == key })
		if i < 0 {
			note(path.and("["+key+"]"), w, nil)
			continue
		}
		unlike(path.and("["+key+"]"), w, have[i], note)
	}
	if len(want) == 0 || elementKey(want[0]) != "" {
		return
	}
	differs := len(want) != len(have)
	for i := range want {
		if !differs {
			unlike(path, want[i], have[i], func(Path, any, any) { differs = true })
		}
	}
	if differs {
		note(path, want, have)
	}
}

// elementKey is by what Kubernetes tells elements of a list apart, "" where it does not.
func elementKey(e any) string {
	m, ok := e.(map[string]any)
	if !ok {
		return ""
	}
	for _, keys := range [][]string{{"containerPort", "protocol"}, {"port", "protocol"}, {"mountPath"}, {"name"}} {
		if m[keys[0]] == nil {
			continue
		}
		var parts []string
		for _, k := range keys {
			parts = append(parts, fmt.Sprint(m[k]))
		}
		return strings.Join(parts, "/")
	}
	return ""
}

// sameValue compares two scalars.
func sameValue(a, b any) bool {
	if a == b || fmt.Sprint(a) == fmt.Sprint(b) && b != nil {
		return true
	}
	x, xerr := resource.ParseQuantity(fmt.Sprint(a))
	y, yerr := resource.ParseQuantity(fmt.Sprint(b))
	return xerr == nil && yerr == nil && x.Cmp(y) == 0
}

// at returns what is below those fields, nil if nothing is.
func at(content map[string]any, fields ...string) any { return value(content, fields) }

// value returns what a path leads to, nil if nothing is there.
func value(content any, path Path) any {
	for _, e := range path {
		switch c := content.(type) {
		case map[string]any:
			content = c[e]
		case []any:
			i := element(c, e)
			if i < 0 {
				return nil
			}
			content = c[i]
		default:
			return nil
		}
	}
	return content
}

// element is the index of a list's element, -1 if there is none.
func element(list []any, e string) int {
	return slices.IndexFunc(list, func(x any) bool {
		return "["+elementKey(x)+"]" == e || "["+fmt.Sprint(x)+"]" == e
	})
}

// RemovePath takes away what a path leads to.
func RemovePath(content map[string]any, path Path) {
	last := path[len(path)-1]
	switch parent := value(content, path[:len(path)-1]).(type) {
	case map[string]any:
		delete(parent, last)
	case []any:
		i := element(parent, last)
		if holder, ok := value(content, path[:len(path)-2]).(map[string]any); ok && i >= 0 {
			holder[path[len(path)-2]] = slices.Delete(slices.Clone(parent), i, i+1)
		}
	}
}
