// Package bundletest reads support bundles in tests.
package bundletest

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Read returns the files of the bundle at path, by name.
func Read(t testing.TB, path string) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for in := tar.NewReader(packed); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		text, failed := io.ReadAll(in)
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(text)
	}
}
