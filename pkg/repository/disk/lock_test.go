//go:build unix

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claim")
	l, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if note, err := l.Note(); note != "" || err != nil {
		t.Errorf("a new note: %q, %v", note, err)
	}
	for _, note := range []string{"a long note", "short"} {
		if err := l.SetNote(note); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Acquire(path); !errors.Is(err, ErrLocked) {
		t.Errorf("second holder: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	l, err = Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if note, err := l.Note(); note != "short" || err != nil {
		t.Errorf("the note after Unlock: %q, %v", note, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Release: %v", err)
	}
}

// A holder that removes its file must not let two others in, one on the old
// file and one on a new one.
func TestLockExcludesAcrossRemoval(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claim")
	var (
		wg     sync.WaitGroup
		inside sync.Mutex
		got    int
	)
	for range 4 {
		wg.Go(func() {
			for range 500 {
				l, err := Acquire(path)
				if errors.Is(err, ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !inside.TryLock() {
					t.Error("two holders")
					return
				}
				got++
				inside.Unlock()
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got == 0 {
		t.Error("nobody held it")
	}
}
