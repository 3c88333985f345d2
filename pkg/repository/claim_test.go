package repository

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// crash leaves a writer as a killed process would: the lock is gone, the files stay.
func crash(t *testing.T, w Writer) {
	t.Helper()
	dw := w.(*directoryWriter)
	if err := errors.Join(dw.buffer.Flush(), dw.file.Close(), dw.claim.Unlock()); err != nil {
		t.Fatal(err)
	}
}

func TestUnfinishedBelongsToItsOperation(t *testing.T) {
	d := testDirectory(t)
	w, err := d.Writer(t.Context(), testID, "op-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("half of it")); err != nil {
		t.Fatal(err)
	}
	crash(t, w)
	err = store(d, "op-2", "other")
	if !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "op-1") {
		t.Errorf("another operation: %v", err)
	}
	if b, err := os.ReadFile(d.partPath(testID)); err != nil || string(b) != "half of it" {
		t.Errorf("the refusal left %q, %v", b, err)
	}
	testPut(t, d, "op-1", "all of it")
	if got, err := content(t, d); err != nil || got != "all of it" {
		t.Errorf("the repeat wrote %q, %v", got, err)
	}
}

func TestDeleteClearsLeftovers(t *testing.T) {
	d := testDirectory(t)
	w, err := d.Writer(t.Context(), testID, "op-1")
	if err != nil {
		t.Fatal(err)
	}
	crash(t, w)
	if err := d.Delete(t.Context(), testID); !errors.Is(err, ErrNotFound) {
		t.Errorf("Delete: %v", err)
	}
	testPut(t, d, "op-2", "other")
}

func TestCutNoteClaimsNothing(t *testing.T) {
	d := testDirectory(t)
	if err := os.WriteFile(d.claimPath(testID), []byte("op-unfin"), 0o600); err != nil {
		t.Fatal(err)
	}
	testPut(t, d, "op-2", "data")
}

func TestRefusalLeavesNoClaim(t *testing.T) {
	d := testDirectory(t)
	testPut(t, d, "op-1", "data")
	if err := store(d, "op-2", "other"); !errors.Is(err, ErrExists) {
		t.Errorf("another operation: %v", err)
	}
	if _, err := os.Stat(d.claimPath(testID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("claim: %v", err)
	}
}

func TestWriterWantsAnOperation(t *testing.T) {
	if _, err := testDirectory(t).Writer(t.Context(), testID, ""); err == nil {
		t.Error("a writer without operation")
	}
}
