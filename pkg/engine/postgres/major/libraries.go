package major

import (
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// system is the root of a file system with libraries.
type system struct{ root string }

// find returns the path of a library, "" if the system has none of that name.
func (s system) find(name string) string {
	for _, pattern := range []string{"lib/*-linux-gnu*", "usr/lib/*-linux-gnu*", "lib64", "usr/lib64", "lib", "usr/lib",
		"usr/local/lib"} {
		found, _ := filepath.Glob(filepath.Join(s.root, pattern, name)) // the pattern is right
		if len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// needs returns the libraries that the programs and libraries in directories need, themselves and through others, with
// their paths. What the system lacks is left out: not all modules of a server can be loaded in every image.
func (s system) needs(directories ...string) (map[string]string, error) {
	needed := map[string]string{}
	var open []string
	for _, directory := range directories {
		files, err := os.ReadDir(directory)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if !unneeded(f.Name()) {
				open = append(open, filepath.Join(directory, f.Name()))
			}
		}
	}
	for len(open) > 0 {
		path := open[0]
		open = open[1:]
		names, err := imports(path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			found := s.find(name)
			if needed[name] != "" || found == "" || slices.Contains(base(), name) {
				continue
			}
			needed[name] = found
			open = append(open, found)
		}
	}
	return needed, nil
}

// base are the libraries that belong to the loader of programs: an image has its own, which run programs of older ones.
func base() []string {
	return []string{"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libresolv.so.2",
		"libutil.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
}

// imports are the libraries that a file names; none of a file that is no program.
func imports(path string) ([]string, error) {
	if held, err := os.Stat(path); err != nil || !held.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // a directory, or a link to what the image left out
	}
	f, err := elf.Open(path)
	var other *elf.FormatError
	if errors.As(err, &other) || errors.Is(err, io.EOF) {
		return nil, nil // a script, or nearly empty
	}
	if err != nil {
		return nil, err
	}
	names, err := f.ImportedLibraries()
	return names, errors.Join(err, f.Close())
}
