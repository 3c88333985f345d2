package major

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Programs are those of a major version that were copied out of an image, below a directory. They keep their paths
// there: by these the server finds what belongs to it, wherever its root is.
type Programs struct {
	Directory, Major string
}

// Path is where the programs are.
func (p Programs) Path() string {
	return filepath.Join(p.Directory, "usr", "lib", "postgresql", p.Major, "bin")
}

// libraries is where the libraries are that the programs need.
func (p Programs) libraries() string { return filepath.Join(p.Directory, "libraries") }

// Copy copies the programs out of the system below root, "/" but for tests, with the libraries that they need. What a
// repeat finds it writes again.
func (p Programs) Copy(root string) error {
	programs := Programs{Directory: root, Major: p.Major}
	if _, err := os.Stat(filepath.Join(programs.Path(), "postgres")); err != nil {
		return fmt.Errorf("copy the programs of PostgreSQL %s: this image does not have them: %w", p.Major, err)
	}
	for _, tree := range []string{"usr/lib/postgresql", "usr/share/postgresql"} {
		from := filepath.Join(root, tree, p.Major)
		if err := copyTree(from, filepath.Join(p.Directory, tree, p.Major)); err != nil {
			return fmt.Errorf("copy the programs of PostgreSQL %s: %w", p.Major, err)
		}
	}
	needed, err := system{root}.needs(programs.Path(), filepath.Join(filepath.Dir(programs.Path()), "lib"))
	if err == nil {
		err = os.MkdirAll(p.libraries(), 0o755) //nolint:gosec // programs are no secret
	}
	if err != nil {
		return fmt.Errorf("copy the libraries of PostgreSQL %s: %w", p.Major, err)
	}
	for name, path := range needed {
		if err := copyFile(path, filepath.Join(p.libraries(), name)); err != nil {
			return fmt.Errorf("copy the libraries of PostgreSQL %s: %w", p.Major, err)
		}
	}
	return nil
}

// Missing makes directory, with links to those libraries that the system below root has none of. A server of this
// image does not see any other library because of it.
func (p Programs) Missing(root, directory string) error {
	all, err := os.ReadDir(p.libraries())
	if err == nil {
		err = os.Mkdir(directory, 0o700)
	}
	if err != nil {
		return fmt.Errorf("find the libraries of PostgreSQL %s: %w", p.Major, err)
	}
	for _, library := range all {
		if (system{root}).find(library.Name()) != "" {
			continue
		}
		err := os.Symlink(filepath.Join(p.libraries(), library.Name()), filepath.Join(directory, library.Name()))
		if err != nil {
			return fmt.Errorf("find the libraries of PostgreSQL %s: %w", p.Major, err)
		}
	}
	return nil
}

// unneeded are large, and the server does without them.
func unneeded(name string) bool { return name == "bitcode" || strings.HasPrefix(name, "llvmjit") }

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case unneeded(d.Name()) && d.IsDir():
			return fs.SkipDir
		case unneeded(d.Name()):
			return nil
		case d.IsDir():
			return os.MkdirAll(target, 0o755) //nolint:gosec // programs are no secret
		}
		if held, err := os.Stat(path); err != nil || !held.Mode().IsRegular() {
			return nil //nolint:nilerr // a link to what the image left out
		}
		return copyFile(path, target)
	})
}

// copyFile copies what a path leads to.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from) //nolint:gosec // a file of the image
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // all was read
	held, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, held.Mode().Perm()|0o400) //nolint:gosec // ours
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		_ = out.Close() // the first error counts
		return err
	}
	return out.Close()
}
