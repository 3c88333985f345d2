package deploy

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	object := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "Thing", "spec": spec}}
	}
	there := object(map[string]any{"replicas": int64(2), "image": "tool:1", "args": []any{"a", "b"},
		"ports": []any{map[string]any{"port": int64(1), "protocol": "TCP"}}, "defaulted": true})
	for _, row := range []struct {
		name   string
		wanted map[string]any
		want   []string
	}{
		{"the same, less what was defaulted", map[string]any{"replicas": int64(2),
			"ports": []any{map[string]any{"port": float64(1)}}}, nil},
		{"another value", map[string]any{"image": "tool:2"}, []string{"spec.image"}},
		{"a value of which there is none", map[string]any{"strategy": map[string]any{"type": "Recreate"}},
			[]string{"spec.strategy"}},
		{"an empty one of which there is none", map[string]any{"strategy": map[string]any{}, "tolerations": []any{}}, nil},
		{"another entry", map[string]any{"args": []any{"a", "c"}}, []string{"spec.args[1]"}},
		{"one entry more", map[string]any{"args": []any{"a", "b", "c"}}, []string{"spec.args"}},
		{"one entry less", map[string]any{"args": []any{"a"}}, []string{"spec.args"}},
		{"several", map[string]any{"replicas": int64(3), "image": "x"}, []string{"spec.image", "spec.replicas"}},
	} {
		if diff := cmp.Diff(row.want, Differences(object(row.wanted), there)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

// TestPlaced: what was installed in one way is found again, and is no difference to itself.
func TestPlaced(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{Namespace: "elsewhere", Image: "registry/tool:1", Replicas: 3, Watched: []string{"bank", "shop"},
			ClusterIssuers: true},
		{Namespace: Namespace, Image: "registry/tool:1", Replicas: 1},
	} {
		objects, err := Manifests(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range objects {
			if d := Differences(u, u); len(d) > 0 {
				t.Errorf("%s %s differs from itself in %v", u.GetKind(), u.GetName(), d)
			}
		}
		i := slices.IndexFunc(objects, func(u *unstructured.Unstructured) bool { return u.GetKind() == "Deployment" })
		if diff := cmp.Diff(o, Placed(objects[i])); diff != "" {
			t.Errorf("installed as (-) and found as (+):\n%s", diff)
		}
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		a, b         string
		older, known bool
	}{
		{"ghcr.io/x/tool:v0.1.0", "ghcr.io/x/tool:v0.2.0", true, true},
		{"ghcr.io/x/tool:v0.2.0", "mirror:5000/x/tool:v0.1.0", false, true},
		{"ghcr.io/x/tool:v0.2.0-rc.1", "ghcr.io/x/tool:v0.2.0", true, true},
		{"ghcr.io/x/tool:v0.2.0@sha256:abc", "ghcr.io/x/tool:v0.2.1", true, true},
		{"mirror:5000/x/tool", "ghcr.io/x/tool:v0.2.1", false, false},
		{"ghcr.io/x/tool:dev", "ghcr.io/x/tool:v0.2.1", false, false},
	} {
		if older, known := Older(row.a, row.b); older != row.older || known != row.known {
			t.Errorf("%s before %s: %v, known %v", row.a, row.b, older, known)
		}
	}
}
