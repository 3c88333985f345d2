package preflight

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestViewHoldsNoSecret keeps the role of viewers away from everything that
// reads or changes keys.
func TestViewHoldsNoSecret(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "rbac", "view.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	view, _, _ := strings.Cut(string(content), "---")
	if !strings.Contains(view, "name: dbop-view") || strings.Contains(view, "resources: [secrets") ||
		strings.Contains(view, "pods/") {
		t.Errorf("dbop-view:\n%s", view)
	}
	for _, r := range Rights() {
		if r.Role == "dbop-view" && (r.Resource == "secrets" || strings.Contains(r.Resource, "/")) {
			t.Errorf("dbop-view may %s", r)
		}
	}
}

// TestRightsAreTheRolesInDeploy keeps what check asks for and what an
// administrator grants the same.
func TestRightsAreTheRolesInDeploy(t *testing.T) {
	granted := map[string]bool{}
	for _, file := range []string{"view", "backup", "operate"} {
		f, err := os.Open(filepath.Join("..", "..", "..", "deploy", "rbac", file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		documents := yaml.NewYAMLOrJSONDecoder(f, 4096)
		for {
			role := rbacv1.Role{}
			if err := documents.Decode(&role); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if role.Name != "dbop-"+file && role.Name != "dbop-members" {
				continue
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						granted[Right{Verb: verb, Group: rule.APIGroups[0], Resource: resource}.String()] = true
					}
				}
			}
		}
	}
	asked := map[string]bool{}
	for _, r := range Rights() {
		if asked[r.String()] {
			t.Errorf("%s is asked for twice", r)
		}
		asked[r.String()] = true
	}
	if diff := cmp.Diff(granted, asked); diff != "" {
		t.Errorf("deploy/rbac and Rights differ (-granted +asked):\n%s", diff)
	}
	if !slices.ContainsFunc(Rights(), func(r Right) bool {
		return r.String() == "create statefulsets.apps" &&
			r.Role == "dbop-operate"
	}) {
		t.Error("statefulsets are not in dbop-operate")
	}
}
