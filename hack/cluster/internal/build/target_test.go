package build

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

func TestSelect(t *testing.T) {
	for name, test := range map[string]struct{ ask, want []string }{
		"all":      {nil, []string{"components", "etcd-3.5", "etcd-3.6", "etcd-3.7", "coredns", "provisioner", "pause"}},
		"a family": {[]string{"etcd"}, []string{"etcd-3.5", "etcd-3.6", "etcd-3.7"}},
		"one":      {[]string{"etcd-3.6"}, []string{"etcd-3.6"}},
		"by link":  {[]string{"kubectl"}, []string{"components"}},
	} {
		t.Run(name, func(t *testing.T) {
			targets, err := Select(test.ask)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, target := range targets {
				got = append(got, target.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if _, err := Select([]string{"etdc"}); err == nil {
		t.Error("an unknown name must be refused")
	}
}

func TestFresh(t *testing.T) {
	at := site.Site{Cache: t.TempDir(), Source: t.TempDir()}
	target := Target{Name: "x", inputs: []string{"*.go"}, outputs: []string{"x"}}
	source := filepath.Join(at.Source, "main.go")
	put := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fresh := func() bool {
		t.Helper()
		stamp, err := target.stamp(at)
		if err != nil {
			t.Fatal(err)
		}
		return target.fresh(at, stamp)
	}
	put(source, "one")
	if fresh() {
		t.Error("fresh before it was ever built")
	}
	stamp, err := target.stamp(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := target.keep(at, stamp); err != nil {
		t.Fatal(err)
	}
	if fresh() {
		t.Error("fresh without its program")
	}
	put(at.Bin("x"), "program")
	if !fresh() {
		t.Error("not fresh though nothing changed")
	}
	put(source, "two")
	if fresh() {
		t.Error("fresh though a source changed")
	}
}
