package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPack packs the chart of the project, twice.
func TestPack(t *testing.T) {
	t.Parallel()
	source, created := filepath.Join("..", "..", "..", "deploy", "chart"), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	var packed [2][]byte
	for i := range packed {
		dir := t.TempDir()
		if err := Pack(source, "v1.2.3", created, dir); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(filepath.Join(dir, "dbop-operator-1.2.3.tgz"))
		if err != nil {
			t.Fatal(err)
		}
		packed[i] = raw
	}
	if !bytes.Equal(packed[0], packed[1]) {
		t.Error("the chart is not packed the same twice")
	}
	files := unpacked(t, packed[0])
	if about := files["dbop-operator/Chart.yaml"]; !strings.Contains(about, "version: 1.2.3\n") || !strings.Contains(about,
		"appVersion: v1.2.3\n") {
		t.Errorf("Chart.yaml: %s", about)
	}
	// The chart's files are links into the tree: what is packed is what they lead to.
	for packed, source := range map[string]string{"rights.yaml": "operator/rights.yaml",
		"crd/dbop.dev_databaseclusters.yaml": "crd/dbop.dev_databaseclusters.yaml"} {
		want, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", filepath.FromSlash(source)))
		if err != nil || files["dbop-operator/files/"+packed] != string(want) {
			t.Errorf("%s is not what deploy has: %v", packed, err)
		}
	}
	if err := Pack(t.TempDir(), "v1.2.3", created, t.TempDir()); err == nil {
		t.Error("a directory without a chart was packed")
	}
}

// TestDefinitions: a kind that is new must come into the chart, too.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	deploy := filepath.Join("..", "..", "..", "deploy")
	all, err := filepath.Glob(filepath.Join(deploy, "crd", "*.yaml"))
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	for _, path := range all {
		if _, err := os.Stat(filepath.Join(deploy, "chart", "files", "crd", filepath.Base(path))); err != nil {
			t.Errorf("%s: link it in deploy/chart/files/crd", filepath.Base(path))
		}
	}
}

func unpacked(t *testing.T, raw []byte) map[string]string {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for in := tar.NewReader(packed); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(content)
	}
}
