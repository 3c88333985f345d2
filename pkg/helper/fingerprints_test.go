package helper

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFingerprints(t *testing.T) {
	t.Parallel()
	block := func(kind, content string) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(content)})
	}
	// What sha256sum says of "one" and "two".
	certificate := func(content string) []byte { return block("CERTIFICATE", content) }
	words := []byte("# words\n")
	one := "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
	two := "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"
	for name, test := range map[string]struct {
		content []byte
		want    []string
	}{
		"two":               {slices.Concat(certificate("one"), words, certificate("two")), []string{one, two}},
		"something besides": {slices.Concat(block("PRIVATE KEY", "one"), certificate("two")), []string{two}},
		"nothing":           {nil, nil},
		"no certificate":    {[]byte("words"), nil},
	} {
		file := filepath.Join(t.TempDir(), "ca.crt")
		if err := os.WriteFile(file, test.content, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Fingerprints(file)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s (-want +got): %s, %v", name, diff, err)
		}
	}
	if got, err := Fingerprints(filepath.Join(t.TempDir(), "missing")); err != nil || got != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
}
