package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// open reads a file of slots as a process does that starts.
func open(t *testing.T, path string) (*Slots, string) {
	t.Helper()
	var got string
	s, _, err := OpenSlots(path, &got)
	if err != nil {
		t.Fatal(err)
	}
	return &s, got
}

func write(t *testing.T, s *Slots, content string) {
	t.Helper()
	if err := s.Write(content); err != nil {
		t.Fatal(err)
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	s, got := open(t, path)
	if got != "" {
		t.Errorf("what is not there holds %q", got)
	}
	for _, want := range []string{"a", "b", "c", strings.Repeat("d", 3*slot), "e", "f"} {
		write(t, s, want)
		if _, got := open(t, path); got != want {
			t.Errorf("wrote %.10q, read %.10q", want, got)
		}
	}
	s, _ = open(t, path)
	write(t, s, "g")
	if _, got := open(t, path); got != "g" {
		t.Errorf("after a restart wrote g, read %q", got)
	}
}

// TestSlotsInPlace: no write but the first one takes room, and none touches the content that counts.
func TestSlotsInPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	s, _ := open(t, path)
	write(t, s, "0")
	made, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, old := open(t, path)
		write(t, s, string(rune('1'+i)))
		now, err := os.Stat(path)
		if err != nil || !os.SameFile(made, now) || now.Size() != made.Size() {
			t.Fatalf("the file is another one: %v", err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// As after a crash in the middle of this write: a part of the new bytes is on disk.
		for at := range after {
			if before[at] == after[at] {
				continue
			}
			torn := append(append([]byte{}, after[:at]...), before[at:]...)
			if err := os.WriteFile(path, torn, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, got := open(t, path); got != old {
				t.Fatalf("torn at byte %d it holds %q, not %q", at, got, old)
			}
		}
		if err := os.WriteFile(path, after, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlotsOfFormerFile: what was written by Replace before goes on.
func TestSlotsOfFormerFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := Replace(path+".json", "former"); err != nil {
		t.Fatal(err)
	}
	s, got := open(t, path)
	if got != "former" {
		t.Errorf("it holds %q", got)
	}
	write(t, s, "new")
	if _, got := open(t, path); got != "new" {
		t.Errorf("it holds %q", got)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%d files are left: %v", len(left), err)
	}
}

func TestSlotsDamaged(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty": "", "of zeros": strings.Repeat("\x00", 2*slot), "other": strings.Repeat("x", 2*slot), "short": "{}",
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var got string
		if _, _, err := OpenSlots(path, &got); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a file that is %s: %v", name, err)
		}
	}
}
