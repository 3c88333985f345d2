package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDependencies compares what docs/dependencies.md tells with go.mod.
func TestDependencies(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	direct, _, _ := strings.Cut(read("go.mod"), ")\n")
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (\S+)$`).FindAllStringSubmatch(direct, -1) {
		want = append(want, m[1]+" "+m[2])
	}
	for _, m := range regexp.MustCompile(
		"(?m)^\\| `([^`]+)` \\|.*\\| (\\S+), \\d{4}-\\d\\d-\\d\\d \\|$").FindAllStringSubmatch(read("docs/dependencies.md"),
		-1) {
		got = append(got, m[1]+" "+m[2])
	}
	if len(want) == 0 || !slices.IsSorted(got) {
		t.Errorf("read %d dependencies of go.mod; those of the docs are sorted: %v", len(want), slices.IsSorted(got))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/dependencies.md is not what go.mod asks for (-go.mod +docs):\n%s", diff)
	}
}
