package node

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

func TestHas(t *testing.T) {
	n := Node{Name: "node-1", at: site.Site{State: t.TempDir()}}
	if err := os.MkdirAll(n.path(), 0o755); err != nil {
		t.Fatal(err)
	}
	// What containerd imported is for the smoke test: a ctr that does nothing is enough here.
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "ctr"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	archives := filepath.Join(t.TempDir(), "with space")
	if err := os.MkdirAll(archives, 0o755); err != nil {
		t.Fatal(err)
	}
	one, two := filepath.Join(archives, "one.tar"), filepath.Join(archives, "two.tar")
	for _, file := range []string{one, two} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if n.Has(file) {
			t.Errorf("has %s before it was loaded", file)
		}
		if err := n.Load(t.Context(), file); err != nil {
			t.Fatal(err)
		}
	}
	if !n.Has(one) || !n.Has(two) {
		t.Error("one of two archives is forgotten")
	}
	if err := os.Chtimes(one, time.Time{}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n.Has(one) {
		t.Error("has an archive that was built again since")
	}
}
