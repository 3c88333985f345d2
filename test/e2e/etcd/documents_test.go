//go:build e2e

package etcd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestGettingStarted types what docs/getting-started.md says, line by line, as
// somebody does who read nothing else: kubectl, the plugin on the PATH, and a
// namespace with the role edit.
func TestGettingStarted(t *testing.T) {
	s := newScene(t, "docs", "my-db")
	raw, err := os.ReadFile(filepath.Join(s.site.Root, "docs", "getting-started.md"))
	s.ok(err)
	kubeconfig := filepath.Join(s.home, "kubeconfig")
	s.ok(s.site.User(s.ctx, s.ns, "newcomer", "edit", kubeconfig))
	s.ok(os.Symlink(s.site.Bin, filepath.Join(s.home, "kubectl-dbop")))
	path := s.home + ":" + filepath.Dir(s.site.Tool("kubectl", "").Path) + ":" + os.Getenv("PATH")
	shell := harness.Command{Path: "/bin/sh", Dir: s.home,
		Env: s.site.CLI(s.home, map[string]string{"KUBECONFIG": kubeconfig, "PATH": path}).Env}

	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	if len(blocks) == 0 {
		t.Fatal("there is no block to run")
	}
	var said strings.Builder
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			r, err := shell.Run(s.ctx, "-c", line)
			s.ok(err)
			if r.Code != 0 {
				t.Fatal(r)
			}
			said.WriteString(r.Stdout)
		}
	}
	s.says(harness.Result{Stdout: said.String()}, "HEALTHY", "hello", "3.7")
}
