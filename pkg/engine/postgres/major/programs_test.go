package major

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// program is a program that names libraries.
func program(t *testing.T, libraries ...string) string {
	t.Helper()
	const header, section = 64, 64
	names := "\x00" + strings.Join(libraries, "\x00") + "\x00"
	var dynamic []elf.Dyn64
	at := uint64(1)
	for _, library := range libraries {
		dynamic = append(dynamic, elf.Dyn64{Tag: int64(elf.DT_NEEDED), Val: at})
		at += uint64(len(library)) + 1
	}
	dynamic = append(dynamic, elf.Dyn64{})
	size := uint64(binary.Size(dynamic))
	var out bytes.Buffer
	for _, part := range []any{
		elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
			Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Shoff: header, Ehsize: header,
			Shentsize: section, Shnum: 3, Shstrndx: 1},
		[3]elf.Section64{{},
			{Type: uint32(elf.SHT_STRTAB), Off: header + 3*section + size, Size: uint64(len(names))},
			{Type: uint32(elf.SHT_DYNAMIC), Off: header + 3*section, Size: size, Link: 1, Entsize: 16}},
		dynamic, []byte(names),
	} {
		if err := binary.Write(&out, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// plant writes the files of a system.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// tree lists the files below a directory.
func tree(t *testing.T, directory string) (all []string) {
	t.Helper()
	if err := filepath.WalkDir(directory, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, strings.TrimPrefix(path, directory+"/"))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCopy copies the programs of one version, with libraries that they need themselves and through others, and leaves
// out what belongs to the image. A repeat does the same.
func TestCopy(t *testing.T) {
	t.Parallel()
	libraries := "usr/lib/x86_64-linux-gnu/"
	root := plant(t, map[string]string{
		"usr/lib/postgresql/15/bin/postgres":           program(t, "libicu.so.72", "libc.so.6"),
		"usr/lib/postgresql/15/bin/script":             "#!/bin/sh",
		"usr/lib/postgresql/15/lib/hstore.so":          program(t, "libc.so.6"),
		"usr/lib/postgresql/15/lib/plperl.so":          program(t, "libperl.so.5"),
		"usr/lib/postgresql/15/lib/llvmjit.so":         program(t, "libLLVM.so.14"),
		"usr/lib/postgresql/15/lib/bitcode/hstore.bc":  "",
		"usr/lib/postgresql/17/bin/postgres":           program(t),
		"usr/share/postgresql/15/timezonesets/Default": "",
		libraries + "libicu.so.72":                     program(t, "libdata.so.72", "libicu.so.72"),
		libraries + "libdata.so.72":                    program(t),
		libraries + "libLLVM.so.14":                    program(t),
		libraries + "libc.so.6":                        program(t, "ld-linux-x86-64.so.2"),
	})
	p := Programs{Directory: t.TempDir(), Major: "15"}
	want := []string{"libraries/libdata.so.72", "libraries/libicu.so.72", "usr/lib/postgresql/15/bin/postgres",
		"usr/lib/postgresql/15/bin/script", "usr/lib/postgresql/15/lib/hstore.so", "usr/lib/postgresql/15/lib/plperl.so",
		"usr/share/postgresql/15/timezonesets/Default"}
	for range 2 {
		if err := p.Copy(root); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree(t, p.Directory)); diff != "" {
			t.Errorf("copied are (-want +got):\n%s", diff)
		}
	}
	if held, err := os.Stat(filepath.Join(p.Path(), "postgres")); err != nil || held.Mode().Perm()&0o100 == 0 {
		t.Errorf("the server can't be run: %v, %v", held, err)
	}

	missing := filepath.Join(t.TempDir(), "missing")
	if err := p.Missing(plant(t, map[string]string{libraries + "libdata.so.72": program(t)}), missing); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"libicu.so.72"}, tree(t, missing)); diff != "" {
		t.Errorf("an image lacks (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(missing, "libicu.so.72")); err != nil {
		t.Error(err)
	}
}

// TestCopyOfAnotherImage: an image without that version is named.
func TestCopyOfAnotherImage(t *testing.T) {
	t.Parallel()
	root := plant(t, map[string]string{"usr/lib/postgresql/17/bin/postgres": program(t)})
	err := Programs{Directory: t.TempDir(), Major: "15"}.Copy(root)
	if err == nil || !strings.Contains(err.Error(), "programs of PostgreSQL 15: this image does not have them") {
		t.Errorf("got %v", err)
	}
}
