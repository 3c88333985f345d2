package pod

import corev1 "k8s.io/api/core/v1"

// DisableBootstrap has a member only ever join. One that lost its volume and starts
// with state "new", the same URL and the same token gets the same member and
// cluster ID as before and passes for the one it was, with no data: so "new"
// is legal only until the cluster has formed once.
func DisableBootstrap(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	sealed := *template.DeepCopy()
	for i := range sealed.Spec.Containers {
		c := &sealed.Spec.Containers[i]
		if c.Name != containerName {
			continue
		}
		for j, arg := range c.Args {
			if arg == stateFlag+stateNew {
				c.Args[j] = stateFlag + stateExisting
			}
		}
	}
	return sealed
}
