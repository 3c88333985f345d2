package helper

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestInstall(t *testing.T) {
	to := filepath.Join(t.TempDir(), "kubectl-dbop")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to+".part", []byte("half a copy"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Install(to); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(to)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("installed %d of %d bytes, %v", len(got), len(want), err)
		}
		if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(to)); err != nil || len(entries) != 1 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

func TestInstallFails(t *testing.T) {
	dir := t.TempDir()
	if err := install(filepath.Join(dir, "absent"), filepath.Join(dir, "x")); err == nil {
		t.Error("installed nothing")
	}
	if err := Install(filepath.Join(dir, "absent", "x")); err == nil {
		t.Error("installed nowhere")
	}
}
