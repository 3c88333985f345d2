package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"
)

// Differences names, by path, what of a wanted object an object that is there
// does not say. What only the latter says, defaults above all, is no difference.
func Differences(wanted, there *unstructured.Unstructured) []string {
	w := wanted.DeepCopy().Object
	delete(w, "status") // generators write an empty one
	unstructured.RemoveNestedField(w, "metadata", "creationTimestamp")
	out := differences("", w, there.Object)
	slices.Sort(out)
	return out
}

func differences(path string, wanted, there any) []string {
	switch w := wanted.(type) {
	case map[string]any:
		t, ok := there.(map[string]any)
		if !ok && len(w) > 0 {
			return []string{path}
		}
		var out []string
		for _, key := range slices.Sorted(maps.Keys(w)) {
			out = append(out, differences(strings.TrimPrefix(path+"."+key, "."), w[key], t[key])...)
		}
		return out
	case []any:
		t, ok := there.([]any)
		if len(w) != len(t) || !ok && len(w) > 0 {
			return []string{path}
		}
		var out []string
		for i := range w {
			out = append(out, differences(fmt.Sprintf("%s[%d]", path, i), w[i], t[i])...)
		}
		return out
	}
	if reflect.DeepEqual(wanted, there) || fmt.Sprint(wanted) == fmt.Sprint(there) {
		return nil
	}
	return []string{path}
}

// Placed reads from an operator's Deployment how it was installed: what a
// newer one takes over.
func Placed(deployment *unstructured.Unstructured) Options {
	o := Options{Namespace: deployment.GetNamespace(), Replicas: 1}
	if n, ok, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas"); ok {
		o.Replicas = n
	}
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	for _, entry := range containers {
		c, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		o.Image, _ = c["image"].(string)
		args, _, _ := unstructured.NestedStringSlice(c, "args")
		for _, a := range args {
			if namespace, ok := strings.CutPrefix(a, "--watch="); ok {
				o.Watched = append(o.Watched, namespace)
			}
			o.ClusterIssuers = o.ClusterIssuers || a == allowClusterIssuers
		}
	}
	return o
}

// Older reports whether image a is of an earlier version than b, as their tags
// say; known is false where a tag is no version.
func Older(a, b string) (older, known bool) {
	va, errA := version.ParseSemantic(tag(a))
	vb, errB := version.ParseSemantic(tag(b))
	if cmp.Or(errA, errB) != nil {
		return false, false
	}
	return va.LessThan(vb), true
}

// tag is the tag of an image, "" if it has none.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[i+1:]
	}
	return ""
}
