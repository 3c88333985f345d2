package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Same says in what two streams of manifests differ: one that Helm rendered,
// and one that the tool prints. What Helm alone adds is not a difference:
// its labels, its policy to keep the definitions. The namespace is not in a
// chart, because Helm makes it itself, or finds it.
func Same(helm, tool []byte) error {
	rendered, err := objects(helm)
	if err != nil {
		return fmt.Errorf("read what Helm rendered: %w", err)
	}
	printed, err := objects(tool)
	if err != nil {
		return fmt.Errorf("read what the tool prints: %w", err)
	}
	if len(printed) == 0 {
		return errors.New("the tool prints nothing")
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(printed)) {
		if rendered[name] == nil {
			problems = append(problems, fmt.Errorf("%s is not in the chart", name))
		} else if at := differ("", rendered[name].Object, printed[name].Object); at != "" {
			problems = append(problems, fmt.Errorf("%s is not the same: %s", name, at))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if printed[name] == nil {
			problems = append(problems, fmt.Errorf("%s is in the chart alone", name))
		}
	}
	return errors.Join(problems...)
}

func objects(raw []byte) (map[string]*unstructured.Unstructured, error) {
	out := map[string]*unstructured.Unstructured{}
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		u := &unstructured.Unstructured{}
		if err := d.Decode(&u.Object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if len(u.Object) == 0 || u.GetKind() == "Namespace" {
			continue
		}
		u.SetLabels(without(u.GetLabels(), "app.kubernetes.io/managed-by", "helm.sh/chart"))
		u.SetAnnotations(without(u.GetAnnotations(), "helm.sh/resource-policy"))
		name := u.GetKind() + " " + strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/")
		if out[name] != nil {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		out[name] = u
	}
}

// without is nil where nothing is left.
func without(all map[string]string, names ...string) map[string]string {
	for _, name := range names {
		delete(all, name)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// differ names the first field in which two values differ, "" for none.
func differ(at string, a, b any) string {
	if left, ok := a.(map[string]any); ok {
		right, ok := b.(map[string]any)
		if !ok {
			return at
		}
		keys := slices.Collect(maps.Keys(left))
		keys = append(keys, slices.Collect(maps.Keys(right))...)
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			if found := differ(at+"."+key, left[key], right[key]); found != "" {
				return found
			}
		}
		return ""
	}
	if left, ok := a.([]any); ok {
		right, ok := b.([]any)
		if !ok || len(left) != len(right) {
			return fmt.Sprintf("%s: %v in the chart, %v of the tool", at, a, b)
		}
		for i := range left {
			if found := differ(fmt.Sprintf("%s[%d]", at, i), left[i], right[i]); found != "" {
				return found
			}
		}
		return ""
	}
	if number(a) == number(b) || reflect.DeepEqual(a, b) {
		return ""
	}
	return fmt.Sprintf("%s: %v in the chart, %v of the tool", at, a, b)
}

// number makes 2 and 2.0 one: Helm reads YAML through JSON.
func number(v any) any {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return &v // equal to nothing
}
