package basebackup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// grown is a database later than the sound one, as what changed since: one file in part, one gone, one new.
func grown() (full, later *backup) {
	full, later = sound(), sound()
	full.files = append(full.files, file{"base/1/2619", string(pages("ABCD")), tar.TypeReg},
		file{"base/1/2620", "gone", tar.TypeReg})
	later.files[0].content = "START WAL LOCATION: 0/200028 (file 000000030000000000000002)\n" +
		"START TIMELINE: 3\nINCREMENTAL FROM LSN: 0/200028\nINCREMENTAL FROM TLI: 3\n"
	later.files = append(later.files,
		file{"base/1/INCREMENTAL.2619", string(changed(4, map[uint32]byte{1: 'Z', 4: 'E'})), tar.TypeReg},
		file{"base/1/2621", "new", tar.TypeReg})
	return full, later
}

// combine unpacks what changed and what it adds to.
func combine(t *testing.T, later, full *backup) (string, Facts, error) {
	t.Helper()
	dir := t.TempDir()
	raw := later.bytes(t)
	if full != nil {
		raw = append(raw, full.bytes(t)...)
	}
	path, into := filepath.Join(dir, "backup"), filepath.Join(dir, "data")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	checked, err := check(raw, 1<<20)
	unpacked, err2 := Unpack(path, into)
	if full != nil && (err == nil) != (err2 == nil) && later.listed == nil {
		t.Logf("the check says %v, unpacking %v", err, err2)
	}
	if err2 == nil && checked != unpacked {
		t.Errorf("the check says %+v, unpacking %+v", checked, unpacked)
	}
	return into, unpacked, err2
}

func TestCombine(t *testing.T) {
	t.Parallel()
	full, later := grown()
	into, facts, err := combine(t, later, full)
	if err != nil {
		t.Fatal(err)
	}
	if !facts.Incremental() || facts.Since != 0x200028 || facts.SinceTimeline != 3 || facts.Manifest !=
		strings.TrimSuffix(later.text()[len(later.text())-67:], "\"}\n") {
		t.Errorf("%+v", facts)
	}
	got := map[string]string{}
	if err := fs.WalkDir(os.DirFS(into), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var raw []byte
			raw, err = os.ReadFile(filepath.Join(into, name))
			got[name] = string(raw)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"base/1/2619": string(pages("AZCDE"))}
	for _, f := range later.files {
		if f.kind == tar.TypeReg && !strings.Contains(f.name, changesPrefix) {
			want[strings.TrimPrefix(f.name, "./")] = f.content
		}
	}
	want["backup_label"] = "START WAL LOCATION: 0/200028 (file 000000030000000000000002)\nSTART TIMELINE: 3\n"
	text := got[manifestName]
	delete(got, manifestName)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	seen := map[string]bool{}
	m := newManifest(func(l listed) error {
		seen[l.Path] = true
		sum := sha256.Sum256([]byte(want[l.Path]))
		if hex.EncodeToString(sum[:]) != l.Checksum || l.Size != int64(len(want[l.Path])) {
			t.Errorf("the manifest says %+v", l)
		}
		return nil
	})
	if _, err := m.Write([]byte(text)); err != nil || m.checksum == "" || !seen["base/1/2619"] || len(seen) != 9 {
		t.Errorf("the manifest lists %v, %v", seen, err)
	}
}

// TestCombineRefuses: what is not what the changes add to is refused, and so are changes alone.
func TestCombineRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(full, later *backup) (*backup, *backup){
		"which does not follow": func(_, later *backup) (*backup, *backup) { return nil, later },
		"lacks 1 files": func(full, later *backup) (*backup, *backup) {
			full.files = full.files[:len(full.files)-2]
			return full, later
		},
		"begins at 0/200028 on timeline 3": func(full, later *backup) (*backup, *backup) {
			later.files[0].content = strings.Replace(later.files[0].content, "FROM LSN: 0/200028", "FROM LSN: 0/100028", 1)
			return full, later
		},
		"says only in part": func(full, later *backup) (*backup, *backup) {
			later.files[0].content = strings.Replace(later.files[0].content, "INCREMENTAL FROM TLI: 3\n", "", 1)
			return full, later
		},
		"holds changes itself": func(_, later *backup) (*backup, *backup) { return later, later },
		"something follows":    func(full, _ *backup) (*backup, *backup) { return full, full },
		`"base/1/1255" is damaged`: func(full, later *backup) (*backup, *backup) {
			full.replace("base/1/1255", strings.Repeat("pagf", 5000))
			return full, later
		},
		"it begins with": func(full, later *backup) (*backup, *backup) {
			later.files[len(later.files)-2].content = "not what it is named"
			return full, later
		},
	} {
		full, later := change(grown())
		_, _, err := combine(t, later, full)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, engine.ErrNotSnapshot) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestCheckChanges: changes are whole by themselves, and so are they with what they add to.
func TestCheckChanges(t *testing.T) {
	t.Parallel()
	full, later := grown()
	for _, piece := range []int{1 << 30, 4096, 513} {
		alone, err := check(later.bytes(t), piece)
		if err != nil || !alone.Incremental() {
			t.Errorf("%+v, %v", alone, err)
		}
		both, err := check(append(later.bytes(t), full.bytes(t)...), piece)
		if err != nil || both != alone {
			t.Errorf("%+v, %v", both, err)
		}
	}
	raw := append(later.bytes(t), full.bytes(t)...)
	if _, err := check(raw[:len(raw)-2000], 4096); !errors.Is(err, engine.ErrNotSnapshot) {
		t.Errorf("half of the full backup: %v", err)
	}
	if _, err := check(append(raw, full.bytes(t)...), 4096); !errors.Is(err, engine.ErrNotSnapshot) {
		t.Errorf("a third backup: %v", err)
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	b := sound()
	raw := b.bytes(t)
	for _, piece := range []int{1 << 30, 700} {
		base := NewBase(1 << 20)
		for p := range slices.Chunk(raw, piece) {
			if n, err := base.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := string(base.Content()); got != b.text() {
			t.Errorf("in pieces of %d it keeps %d bytes", piece, len(got))
		}
	}
	for name, c := range map[string]struct {
		raw  []byte
		most int64
	}{"too large": {raw, 100}, "cut": {raw[:len(raw)-1024], 1 << 20}, "nothing": {nil, 1 << 20}, "no archive": {
		bytes.Repeat([]byte("x"), 2000), 1 << 20}} {
		base := NewBase(c.most)
		if _, err := base.Write(c.raw); err != nil || base.Content() != nil {
			t.Errorf("%s: it keeps %d bytes, %v", name, len(base.Content()), err)
		}
	}
}
