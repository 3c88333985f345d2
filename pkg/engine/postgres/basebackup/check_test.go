package basebackup

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// check writes an archive in pieces of a size.
func check(raw []byte, piece int) (Facts, error) {
	c := NewCheck()
	for len(raw) > 0 {
		n := min(piece, len(raw))
		if _, err := c.Write(raw[:n]); err != nil {
			return Facts{}, errors.Join(err, c.Close())
		}
		raw = raw[n:]
	}
	return c.Facts()
}

func TestCheck(t *testing.T) {
	t.Parallel()
	b := sound()
	raw := b.bytes(t)
	for _, piece := range []int{1 << 30, 4096, 513, 7} {
		got, err := check(raw, piece)
		if err != nil {
			t.Fatalf("pieces of %d: %v", piece, err)
		}
		if diff := cmp.Diff(facts(b), got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestCheckRefuses: whatever is missing, is there twice, or is not as the manifest says makes an archive no backup.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	add := func(name, content string, kind byte) func(*backup) {
		return func(b *backup) {
			b.listed = append(b.listed, b.files...)
			b.files = append(b.files, file{name, content, kind})
		}
	}
	manifest := func(old, replaced string) func(*backup) {
		return func(b *backup) { b.manifest = func(s string) string { return strings.Replace(s, old, replaced, 1) } }
	}
	for want, change := range map[string]func(*backup){
		`"base/1/1255" is damaged`: func(b *backup) { b.replace("base/1/1255", strings.Repeat("pagf", 5000)) },
		`"base/1/1255" has 20001 bytes, the manifest says 20000`: func(b *backup) {
			b.replace("base/1/1255", strings.Repeat("page", 5000)+"x")
		},
		`"base/1/1255" is missing`:               func(b *backup) { b.drop("base/1/1255") },
		`"global/pg_control" is missing`:         func(b *backup) { b.drop("global/pg_control") },
		"has 1 files that the manifest does not": add("base/1/9", "x", tar.TypeReg),
		`"PG_VERSION" is there twice`:            add("PG_VERSION", "17\n", tar.TypeReg),
		"lacks the log from 0/300000 on":         func(b *backup) { b.drop("pg_wal/000000030000000000000003") },
		"of the log has 100 bytes": func(b *backup) {
			b.replace("pg_wal/000000030000000000000003", strings.Repeat("l", 100))
		},
		"tablespaces are not read":           add("pg_tblspc/16384", "/elsewhere", tar.TypeSymlink),
		`"../x" is no name`:                  add("../x", "x", tar.TypeReg),
		`"/etc/x" is no name`:                add("/etc/x", "x", tar.TypeReg),
		"the version of the manifest is 3":   manifest(`Version": 2`, `Version": 3`),
		"a line that is not known":           manifest(`"Files": [`, "\"Fields\": [],\n\"Files\": ["),
		"the manifest is of the database 12": manifest("7711", "12"),
		"by \"CRC32C\", not by SHA256":       manifest("SHA256", "CRC32C"),
		"the manifest names no log": manifest(
			`{ "Timeline": 3, "Start-LSN": "0/200028", "End-LSN": "0/300100" }`+"\n", ""),
		"begins at 0/200028, the log of the manifest at 0/200000": manifest("0/200028", "0/200000"),
		"ends at 0/200028": manifest("0/300100", "0/200028"),
	} {
		b := sound()
		change(b)
		_, err := check(b.bytes(t), 1<<20)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, engine.ErrNotSnapshot) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestCheckDamaged: no archive is taken that was cut anywhere. A byte that is another is noticed in everything but the
// log, the padding and what a header says of owners: the log has checksums of its own.
func TestCheckDamaged(t *testing.T) {
	t.Parallel()
	raw := sound().bytes(t)
	for length := 0; length < len(raw)-1; length += 1 + length/64 {
		if _, err := check(raw[:length], 1<<20); !errors.Is(err, engine.ErrNotSnapshot) {
			t.Fatalf("%d of %d bytes: %v", length, len(raw), err)
		}
	}
	page := bytes.Index(raw, []byte("pagepage"))
	text := bytes.Index(raw, []byte("PostgreSQL-Backup"))
	end := bytes.Index(raw, []byte("Manifest-Checksum"))
	for _, at := range []int{0, 150, page, page + 10_000, text, text + 600, end + 30} {
		damaged := bytes.Clone(raw)
		damaged[at] ^= 1
		if _, err := check(damaged, 1<<20); !errors.Is(err, engine.ErrNotSnapshot) {
			t.Errorf("byte %d is another: %v", at, err)
		}
	}
}

// TestOpen reads a file, whole or only what tells of the whole.
func TestOpen(t *testing.T) {
	t.Parallel()
	b := sound()
	path := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(path, b.bytes(t), 0o600); err != nil {
		t.Fatal(err)
	}
	want := facts(b)
	for _, checked := range []bool{false, true} {
		got, err := Open(path, checked)
		if err != nil {
			t.Fatal(err)
		}
		if checked {
			want.Files, want.Bytes = 0, 0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("checked %t: %s", checked, diff)
		}
	}
	if err := os.WriteFile(path, []byte("etcd"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, checked := range []bool{false, true} {
		if _, err := Open(path, checked); !errors.Is(err, engine.ErrNotSnapshot) {
			t.Errorf("checked %t: %v", checked, err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	raw := sound().bytes(f)
	f.Add(raw[:4096], 100)
	f.Add(raw[len(raw)-4096:], 7)
	f.Fuzz(func(t *testing.T, raw []byte, piece int) {
		whole, err := check(raw, max(1, len(raw)))
		pieces, err2 := check(raw, max(1, piece))
		if (err == nil) != (err2 == nil) || whole != pieces {
			t.Errorf("in one piece %v, in pieces %v", err, err2)
		}
		if err != nil && !errors.Is(err, engine.ErrNotSnapshot) {
			t.Error(err)
		}
	})
}
