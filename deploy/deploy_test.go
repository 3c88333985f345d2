package deploy

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestManifestsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	objects, err := Manifests(Options{Namespace: "elsewhere", Image: "registry/tool:1", Replicas: 3,
		Watched: []string{"shop", "bank"}})
	if err != nil {
		t.Fatal(err)
	}
	rights := map[string]bool{}
	for _, o := range objects {
		if strings.HasPrefix(o.GetKind(), "ClusterRole") && o.GetName() != "dbop-operator-definition-elsewhere" {
			t.Errorf("%s %s gives rights in the whole cluster", o.GetKind(), o.GetName())
		}
		if o.GetKind() == "Role" && o.GetName() == Name {
			rights[o.GetNamespace()] = true
		}
		raw, err := o.MarshalJSON()
		if err != nil || strings.Contains(string(raw), Namespace) {
			t.Errorf("%s %s still speaks of %s: %s", o.GetKind(), o.GetName(), Namespace, raw)
		}
	}
	if len(rights) != 2 || !rights["shop"] || !rights["bank"] {
		t.Errorf("rights in %v", rights)
	}
}

// TestDefinitionIsReadByName: the only right in the whole cluster that an operator
// of some namespaces has is to read one definition.
func TestDefinitionIsReadByName(t *testing.T) {
	t.Parallel()
	objects, err := Manifests(Options{Namespace: "elsewhere", Watched: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, o := range objects {
		if !strings.HasPrefix(o.GetKind(), "ClusterRole") {
			continue
		}
		raw, err := json.Marshal(map[string]any{"rules": o.Object["rules"], "roleRef": o.Object["roleRef"],
			"subjects": o.Object["subjects"]})
		if err != nil {
			t.Fatal(err)
		}
		found[o.GetKind()+" "+o.GetName()] = string(raw)
	}
	name := "dbop-operator-definition-elsewhere"
	want := map[string]string{
		"ClusterRole " + name: `{"roleRef":null,"rules":[{"apiGroups":["apiextensions.k8s.io"],"resourceNames":["databaseclusters.dbop.dev"],` +
			`"resources":["customresourcedefinitions"],"verbs":["get"]}],"subjects":null}`,
		"ClusterRoleBinding " + name: `{"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"` +
			name + `"},"rules":null,` +
			`"subjects":[{"kind":"ServiceAccount","name":"dbop-operator","namespace":"elsewhere"}]}`,
	}
	if !maps.Equal(found, want) {
		t.Errorf("%v", found)
	}
}

// TestDeployment: two lines of a manifest that nobody must lose.
func TestDeployment(t *testing.T) {
	t.Parallel()
	objects, err := Manifests(Options{Namespace: Namespace, Image: "registry/tool:1", Replicas: 3,
		Watched: []string{"shop"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		c := containers[0].(map[string]any)
		root, _, _ := unstructured.NestedBool(c, "securityContext", "readOnlyRootFilesystem")
		if c["image"] != "registry/tool:1" || c["args"].([]any)[3] != "--watch=shop" || !root {
			t.Errorf("%+v", c)
		}
		return
	}
	t.Error("there is no deployment")
}

// TestDefinitions: each of them is installed, and small, as a plain kubectl apply keeps the whole object in an
// annotation.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	const limit = 100 << 10
	all, err := filepath.Glob("crd/*.yaml")
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	objects, err := Manifests(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		raw, err := os.ReadFile(path)
		if err != nil || len(raw) > limit {
			t.Errorf("%s: %v, %d bytes", path, err, len(raw))
		}
		group, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".yaml"), "_")
		if !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == "CustomResourceDefinition" && o.GetName() == plural+"."+group
		}) {
			t.Errorf("%s is not installed", path)
		}
	}
}
