package operation

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// formerSettings is the change that gives what a change touched its former values.
func formerSettings(from *v1alpha1.Settings, change *v1alpha1.SettingsChange) *v1alpha1.SettingsChange {
	out := &v1alpha1.SettingsChange{Requests: formerAmounts(from.Resources.Requests, change.Requests),
		Limits: formerAmounts(from.Resources.Limits, change.Limits)}
	if change.Routing != "" {
		out.Routing = cmp.Or(from.Routing, v1alpha1.RoutingProxied)
	}
	if change.RedirectTo != nil {
		out.RedirectTo = new(from.RedirectTo)
	}
	if change.HelperImage != nil && from.HelperImage != nil {
		out.HelperImage = new(*from.HelperImage)
	}
	restore := func(name string) {
		value, had := from.Config[name]
		if !had {
			out.Unset = append(out.Unset, name)
			return
		}
		if out.Set == nil {
			out.Set = map[string]string{}
		}
		out.Set[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(change.Set)) {
		restore(name)
	}
	for _, name := range change.Unset {
		if _, had := from.Config[name]; had {
			restore(name)
		}
	}
	return out
}

// formerAmounts are the former amounts of what was changed; zero takes away
// what was not there.
func formerAmounts(from, change corev1.ResourceList) corev1.ResourceList {
	var out corev1.ResourceList
	for name := range change {
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[name] = from[name].DeepCopy()
	}
	return out
}
