package ops

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestAmounts(t *testing.T) {
	amount := func(name corev1.ResourceName, q string) v1alpha1.DatabaseClusterSpec {
		list := corev1.ResourceList{name: resource.MustParse(q)}
		return v1alpha1.DatabaseClusterSpec{Resources: corev1.ResourceRequirements{Requests: list, Limits: list}}
	}
	size := func(q string) v1alpha1.DatabaseClusterSpec {
		return v1alpha1.DatabaseClusterSpec{Storage: v1alpha1.Storage{Size: resource.MustParse(q)}}
	}
	image := func(name string) v1alpha1.DatabaseClusterSpec { return v1alpha1.DatabaseClusterSpec{Image: name} }
	for name, c := range map[string]struct {
		spec v1alpha1.DatabaseClusterSpec
		says string
	}{
		"nothing said":        {},
		"memory":              {spec: amount(corev1.ResourceMemory, "128Mi")},
		"too little memory":   {amount(corev1.ResourceMemory, "1Ki"), "--memory 1Ki is too little"},
		"processors":          {spec: amount(corev1.ResourceCPU, "100m")},
		"millions of them":    {amount(corev1.ResourceCPU, "512M"), "--cpu 512M is more than there can be"},
		"a volume":            {spec: size("64Mi")},
		"too small a volume":  {size("1m"), "--storage 1m is too little"},
		"too large a volume":  {size("1e30"), "--storage 1e30 is more than there can be"},
		"an image":            {spec: image("quay.io/coreos/etcd:v3.6.16")},
		"with a port":         {spec: image("localhost:5000/etcd@sha256:" + strings.Repeat("a", 64))},
		"a blank in the name": {image("a b"), `--image "a b" is not the name of an image`},
		"a flag":              {image("--privileged"), "is not the name of an image"},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckAmounts(c.spec)
			refusal, refused := errors.AsType[*engine.Refusal](err)
			if refused != (c.says != "") || refused && (!strings.Contains(err.Error(), c.says) || refusal.Hint == "") {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
