//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestInstall(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	into := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	// What a crash left in the middle, and a copy that is being run, are both replaced.
	for _, name := range []string{"dbop-agent", "dbop-agent.part"} {
		if err := os.WriteFile(filepath.Join(into, name), []byte("earlier"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	earlier, err := os.Open(filepath.Join(into, "dbop-agent"))
	if err != nil {
		t.Fatal(err)
	}
	defer earlier.Close()
	for range 2 {
		if err := command(t.Context(), []string{"install", into}, io.Discard); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(into, "dbop-agent"))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("the copy has %d bytes, %v, want the %d of this program", len(got), err, len(want))
		}
	}
	if raw, err := io.ReadAll(earlier); err != nil || string(raw) != "earlier" {
		t.Errorf("the earlier copy was written over: %q, %v", raw, err)
	}
	left, err := os.ReadDir(into)
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if info, err := os.Stat(filepath.Join(into, "dbop-agent")); err != nil || info.Mode() != 0o755 {
		t.Errorf("the mode is %v, %v: the user of the server must be able to run it", info.Mode(), err)
	}
}

func TestInstallFails(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no directory":        {[]string{"install"}, "name one directory"},
		"two":                 {[]string{"install", "a", "b"}, "name one directory"},
		"one that is missing": {[]string{"install", nowhere}, "install the agent at " + nowhere},
	} {
		err := command(t.Context(), test.args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
