package logfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
)

const history = "5d8673c2912c4b7f"

// add writes a whole file.
func add(t *testing.T, b *Buffer, at uint64, content string, mark time.Time) {
	t.Helper()
	if err := b.Begin(history, at); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	b.Mark(mark)
	if err := b.Complete(); err != nil {
		t.Fatal(err)
	}
}

func TestBuffer(t *testing.T) {
	t.Parallel()
	dir, mark := t.TempDir(), time.UnixMicro(1795568917648618).UTC()
	b, err := Open(dir, 1000)
	if err != nil {
		t.Fatal(err)
	}
	add(t, b, 10, "content", mark)
	add(t, b, 17, "", time.Time{}) // one without a byte is none
	add(t, b, 17, "more", time.Time{})
	if err := b.Begin(history, 21); err != nil { // a crash leaves it
		t.Fatal(err)
	}
	if _, err := b.Write([]byte("a part")); err != nil {
		t.Fatal(err)
	}
	if b, err = Open(dir, 1000); err != nil {
		t.Fatal(err)
	}
	files, lost := b.Files()
	if len(files) != 2 || lost != 0 || files[0].Start != 10 || files[0].End != 17 || files[0].Time != mark ||
		files[1].Start != 17 || files[1].End != 21 || !files[1].Time.IsZero() {
		t.Fatalf("the files are %+v, %d are lost", files, lost)
	}
	name := files[0].String()
	_, body, found, err := b.Read(name)
	if err != nil || !found || string(body) != "content" {
		t.Errorf("it holds %q, %t, %v", body, found, err)
	}
	other, own := sha256.Sum256([]byte("Content")), sha256.Sum256([]byte("content"))
	if err := b.Confirm(name, hex.EncodeToString(other[:])); !errors.Is(err, ErrOther) {
		t.Errorf("other bytes are confirmed: %v", err)
	}
	if err := b.Confirm(name, ""); !errors.Is(err, ErrOther) {
		t.Errorf("no checksum confirms: %v", err)
	}
	for range 2 { // a repeat is no error
		if err := b.Confirm(name, hex.EncodeToString(own[:])[:32]); err != nil {
			t.Error(err)
		}
	}
	if files, _ := b.Files(); len(files) != 1 || files[0].End != 21 {
		t.Errorf("%+v are left", files)
	}
}

// TestBufferFull: the oldest go, and it is counted.
func TestBufferFull(t *testing.T) {
	t.Parallel()
	b, err := Open(t.TempDir(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		add(t, b, uint64(40*i), strings.Repeat("x", 40), time.Time{})
	}
	files, lost := b.Files()
	if len(files) != 2 || lost != 3 || files[0].Start != 120 {
		t.Errorf("%+v are left, %d are lost", files, lost)
	}
}
