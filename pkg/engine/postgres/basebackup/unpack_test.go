package basebackup

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnpack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, into := filepath.Join(dir, "backup"), filepath.Join(dir, "data")
	b := sound()
	if err := os.WriteFile(path, b.bytes(t), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Unpack(path, into); err != nil || got != facts(b) {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, f := range append(b.files, file{manifestName, b.text(), tar.TypeReg}) {
		raw, err := os.ReadFile(filepath.Join(into, f.name))
		if f.kind == tar.TypeReg && (err != nil || string(raw) != f.content) {
			t.Errorf("%s has %d bytes, %v", f.name, len(raw), err)
		}
	}
	if info, err := os.Stat(into); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the rights are %v, %v", info.Mode(), err)
	}
	if _, err := Unpack(path, into); err == nil {
		t.Error("a directory that exists is written into")
	}
}

// TestUnpackStays: an archive that leads out of its directory, or to one file twice, changes nothing outside.
func TestUnpackStays(t *testing.T) {
	t.Parallel()
	for name, added := range map[string][]file{
		"above":         {{"../outside", "x", tar.TypeReg}},
		"absolute":      {{"/tmp/dbop-outside", "x", tar.TypeReg}},
		"twice":         {{"base/1/1255", "x", tar.TypeReg}},
		"a link":        {{"pg_tblspc/1", "../..", tar.TypeSymlink}},
		"below a file":  {{"PG_VERSION/x", "x", tar.TypeReg}},
		"over the data": {{".", "x", tar.TypeReg}},
	} {
		dir := t.TempDir()
		b := sound()
		b.files = append(b.files, added...)
		path := filepath.Join(dir, "backup")
		if err := os.WriteFile(path, b.bytes(t), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Unpack(path, filepath.Join(dir, "data"))
		if err == nil {
			t.Errorf("%s: it is unpacked", name)
		}
		left, _ := os.ReadDir(dir)
		if len(left) != 2 {
			t.Errorf("%s: there are %v", name, left)
		}
		raw, _ := os.ReadFile(filepath.Join(dir, "data", "base/1/1255"))
		if !strings.HasPrefix(string(raw), "page") {
			t.Errorf("%s: a file was written over", name)
		}
	}
}
