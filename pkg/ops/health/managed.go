package health

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ManagedBy returns the label, annotation or owner by which a tool keeps track
// of an object that it may also delete, for example when it prunes what is no
// longer in a repository; "" if there is none.
func ManagedBy(o metav1.Object) string {
	for _, keys := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
		names := make([]string, 0, len(keys))
		for name := range keys {
			if tracks(name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return slices.Min(names)
		}
	}
	for _, owner := range o.GetOwnerReferences() {
		return owner.Kind + " " + owner.Name
	}
	return ""
}

// tracks reports whether tools put that label or annotation on what they manage.
func tracks(name string) bool {
	switch name {
	case "app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "config.k8s.io/owning-inventory":
		return true
	}
	domain, _, _ := strings.Cut(name, "/")
	switch domain {
	case "argocd.argoproj.io", "meta.helm.sh", "helm.sh", "objectset.rio.cattle.io", "kapp.k14s.io",
		"applyset.kubernetes.io", "configsync.gke.io",
		"configmanagement.gke.io":
		return true
	}
	return strings.HasSuffix(domain, ".toolkit.fluxcd.io")
}
