package debian

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// deb builds a package of files; one that ends in "->TARGET" is a symbolic link.
func deb(t *testing.T, name string, files ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	put := func(path, content string, mode fs.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if link, target, ok := strings.Cut(path, "->"); ok {
			if err := os.Symlink(target, link); err != nil {
				t.Fatal(err)
			}
			return
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(dir, "DEBIAN", "control"), "Package: "+name+"\nVersion: 1\nArchitecture: all\nMaintainer: nobody\n"+
		"Description: test\n", 0o644)
	for _, file := range files {
		put(filepath.Join(dir, file), file, 0o755|fs.ModeSetuid)
	}
	if out, err := exec.Command("dpkg-deb", "--build", "--root-owner-group", dir).CombinedOutput(); err != nil {
		t.Fatalf("build a package: %v: %s", err, out)
	}
	return dir + ".deb"
}

func TestUnpack(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("this is no Debian: dpkg-deb is missing")
	}
	root := filepath.Join(t.TempDir(), "tree")
	packages := []string{
		deb(t, "old", "bin/dash", "bin/sh->dash", "lib/x/libc.so", "usr/share/doc/old/copyright"),
		deb(t, "new", "usr/bin/bash", "usr/lib/x/libm.so->libm.so.6"),
		deb(t, "base", "sbin->usr/sbin", "etc/issue"),
	}
	leave := func(path string) bool { return path == "usr/share/doc" }
	if err := Unpack(t.Context(), packages, root, leave); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"usr/bin/dash": "bin/dash", "usr/bin/bash": "usr/bin/bash", "usr/lib/x/libc.so": "lib/x/libc.so",
		"bin/sh": "bin/dash", "etc/issue": "etc/issue",
	} {
		if got, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", path, got, err, want)
		}
	}
	for path, want := range map[string]string{"sbin": "usr/sbin", "usr/lib/x/libm.so": "libm.so.6"} {
		if got, err := os.Readlink(filepath.Join(root, path)); err != nil || got != want {
			t.Errorf("%s leads to %q, %v, want %q", path, got, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "usr/share/doc")); err == nil {
		t.Error("what is to be left out is there")
	}
	if info, err := os.Stat(filepath.Join(root, "usr/bin/dash")); err != nil || info.Mode() != 0o755 {
		t.Errorf("the mode is %v, %v, want 0755 without set-user-ID", info.Mode(), err)
	}
}

func TestPlaceStaysInTheTree(t *testing.T) {
	for name, want := range map[string]string{
		"./bin/sh": "usr/bin/sh", "./lib64/ld.so": "usr/lib64/ld.so", "./library/x": "library/x",
		"../../etc/x": "etc/x", "./": "",
	} {
		if got := place(name); got != want {
			t.Errorf("%s is put at %q, want %q", name, got, want)
		}
	}
}
