package rules

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// namedVolumes names the volumes of members.
func namedVolumes(members []string) string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = v1alpha1.VolumeName(m)
	}
	if len(names) == 1 {
		return "volume " + names[0]
	}
	return "volumes " + strings.Join(names, ", ")
}

// Claims are the volume claims of members, as KIND/NAME.
func Claims(members []string) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = "persistentvolumeclaim/" + v1alpha1.VolumeName(m)
	}
	return out
}
