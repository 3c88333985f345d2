package v1alpha1

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Settings are the parts of a cluster's spec that configure and resize change.
type Settings struct {
	// Config holds engine options by name, see DatabaseClusterSpec.
	Config map[string]string `json:"config,omitempty"`
	// Resources of the database container.
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Size of each member's volume.
	Size resource.Quantity `json:"size,omitempty"`
	// Routing is how clients are led to the primary.
	Routing Routing `json:"routing,omitempty"`
	// RedirectTo is the cluster that clients are sent to, see DatabaseClusterSpec.
	RedirectTo string `json:"redirectTo,omitempty"`
	// HelperImage is the image of this tool, and of agents; nil where a change
	// is not about it.
	HelperImage *string `json:"helperImage,omitempty"`
}

// SettingsChange is what a person asks to be different; the rest stays.
type SettingsChange struct {
	// Set gives options a value, Unset takes them back to the default.
	Set   map[string]string `json:"set,omitempty"`
	Unset []string          `json:"unset,omitempty"`
	// Requests and Limits by resource; zero takes one away.
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Limits   corev1.ResourceList `json:"limits,omitempty"`
	// Size of each member's volume; nil leaves it.
	Size *resource.Quantity `json:"size,omitempty"`
	// Routing is how clients are led to the primary; "" leaves it.
	Routing Routing `json:"routing,omitempty"`
	// RedirectTo is the cluster that clients are sent to; "" has them come here again, nil leaves it.
	RedirectTo *string `json:"redirectTo,omitempty"`
	// HelperImage is the image of this tool, and of agents; nil leaves it.
	HelperImage *string `json:"helperImage,omitempty"`
}

// SettingsOf copies the settings out of a spec that every change names.
func SettingsOf(spec *DatabaseClusterSpec) *Settings {
	return &Settings{Config: maps.Clone(spec.Config), Resources: *spec.Resources.DeepCopy(),
		Size: spec.Storage.Size.DeepCopy(), Routing: spec.Routing, RedirectTo: spec.RedirectTo}
}

// Apply writes the settings into a spec.
func (s *Settings) Apply(spec *DatabaseClusterSpec) {
	spec.Config, spec.Resources, spec.Storage.Size = maps.Clone(s.Config), *s.Resources.DeepCopy(), s.Size.DeepCopy()
	spec.Routing, spec.RedirectTo = s.Routing, s.RedirectTo
	if s.HelperImage != nil {
		spec.HelperImage = *s.HelperImage
	}
}

// With returns the settings with a change made.
func (s *Settings) With(change *SettingsChange) *Settings {
	out := s.DeepCopy()
	if change == nil {
		return out
	}
	for _, name := range change.Unset {
		delete(out.Config, name)
	}
	for name, value := range change.Set {
		if out.Config == nil {
			out.Config = map[string]string{}
		}
		out.Config[name] = value
	}
	out.Resources.Requests = changed(out.Resources.Requests, change.Requests)
	out.Resources.Limits = changed(out.Resources.Limits, change.Limits)
	if change.Routing != "" {
		out.Routing = change.Routing
	}
	if change.RedirectTo != nil {
		out.RedirectTo = *change.RedirectTo
	}
	if change.HelperImage != nil {
		out.HelperImage = new(*change.HelperImage)
	}
	if change.Size != nil {
		out.Size = change.Size.DeepCopy()
	}
	return out
}

func changed(list, change corev1.ResourceList) corev1.ResourceList {
	for name, quantity := range change {
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[name] = quantity.DeepCopy()
		if quantity.IsZero() {
			delete(list, name)
		}
	}
	return list
}
