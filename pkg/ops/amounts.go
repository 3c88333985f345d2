package ops

import (
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// imageReference is what a container runtime takes for an image.
var imageReference = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)*(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?$`)

// CheckAmounts refuses what no member can run with, before anything is written:
// most of these are mistyped units.
func CheckAmounts(spec v1alpha1.DatabaseClusterSpec) error {
	if err := CheckImage("--image", spec.Image); err != nil {
		return err
	}
	if err := CheckImage("--helper-image", spec.HelperImage); err != nil {
		return err
	}
	if size := spec.Storage.Size; !size.IsZero() {
		if err := between("--storage", size, "16Mi", "1Pi", "write it like 10Gi"); err != nil {
			return err
		}
	}
	for _, list := range []corev1.ResourceList{spec.Resources.Requests, spec.Resources.Limits} {
		if q := list[corev1.ResourceMemory]; !q.IsZero() {
			if err := between("--memory", q, "4Mi", "64Ti", "write it like 512Mi or 2Gi"); err != nil {
				return err
			}
		}
		if q := list[corev1.ResourceCPU]; !q.IsZero() {
			if err := between("--cpu", q, "1m", "1k", "write it like 500m (half a processor) or 2"); err != nil {
				return err
			}
		}
	}
	return nil
}

func between(flag string, q resource.Quantity, least, most, hint string) error {
	switch {
	case q.Cmp(resource.MustParse(least)) < 0:
		return &engine.Refusal{Check: "amount", Reason: fmt.Sprintf(
			"%s %s is too little for a member to run with: the least is %s", flag, q.String(), least), Hint: hint}
	case q.Cmp(resource.MustParse(most)) > 0:
		return &engine.Refusal{Check: "amount", Reason: fmt.Sprintf("%s %s is more than there can be: the most is %s", flag,
			q.String(), most), Hint: hint}
	}
	return nil
}

// CheckImage refuses what no container runtime takes for the name of an image.
func CheckImage(flag, image string) error {
	if image == "" || imageReference.MatchString(image) {
		return nil
	}
	return &engine.Refusal{Check: "image", Reason: fmt.Sprintf("%s %q is not the name of an image", flag, image),
		Hint: "write it like registry.example.com/etcd:3.6.16, without blanks and in lower case"}
}
