//go:build linux

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestImports holds that the agent knows no Kubernetes, and nothing of the tool.
func TestImports(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 50 {
		t.Fatalf("%d packages are linked", len(packages))
	}
	for _, p := range packages {
		own, _ := strings.CutPrefix(p, "github.com/dbop-dev/kubectl-dbop/")
		foreign := strings.HasPrefix(p, "k8s.io/") || strings.HasPrefix(p, "sigs.k8s.io/")
		if foreign || own != p && !strings.HasPrefix(own, "pkg/agent/") && own != "cmd/dbop-agent" {
			t.Errorf("the agent links %s", p)
		}
	}
}
