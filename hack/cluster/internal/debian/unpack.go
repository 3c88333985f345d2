package debian

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// merged are the directories that are names of those below usr.
var merged = []string{"bin", "lib", "lib64", "sbin"}

// Unpack puts the files of packages into the directory root, which is made. All belong to the caller, and no bit
// gives the rights of another user. Paths for which leave is true are left out, with all below them.
func Unpack(ctx context.Context, packages []string, root string, leave func(path string) bool) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("make the directory of a tree: %w", err)
	}
	tree, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("open the directory of a tree: %w", err)
	}
	defer tree.Close()
	for _, name := range merged {
		if err := errors.Join(tree.MkdirAll("usr/"+name, 0o755), tree.Symlink("usr/"+name, name)); err != nil {
			return fmt.Errorf("lay out a tree: %w", err)
		}
	}
	for _, file := range packages {
		if err := unpack(ctx, file, tree, leave); err != nil {
			return fmt.Errorf("unpack %s: %w", file, err)
		}
	}
	return nil
}

func unpack(ctx context.Context, file string, tree *os.Root, leave func(string) bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	command := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", file)
	command.Stderr = os.Stderr
	content, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && !left(place(header.Name), leave) {
			err = put(tree, header, reader)
		}
		if err != nil {
			stop()
			return errors.Join(err, command.Wait())
		}
	}
	if _, err := io.Copy(io.Discard, content); err != nil { // the padding after the last file
		return errors.Join(err, command.Wait())
	}
	return command.Wait()
}

// place is the path of a file in a tree whose /bin and /lib are in usr.
func place(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	for _, short := range merged {
		if name == short || strings.HasPrefix(name, short+"/") {
			return "usr/" + name
		}
	}
	return name
}

// left says whether a file, or a directory that it is in, is left out.
func left(name string, leave func(string) bool) bool {
	for at := name; at != "." && at != ""; at = path.Dir(at) {
		if leave(at) {
			return true
		}
	}
	return false
}

// put makes one file of a package.
func put(tree *os.Root, header *tar.Header, content io.Reader) error {
	if short := strings.TrimPrefix(path.Clean("/"+header.Name), "/"); short == "" || slices.Contains(merged, short) {
		return nil // the root, or what Unpack made
	}
	name := place(header.Name)
	mode := os.FileMode(header.Mode) & 0o777
	if err := tree.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return tree.MkdirAll(name, mode|0o700)
	case tar.TypeSymlink:
		return tree.Symlink(header.Linkname, name)
	case tar.TypeLink:
		return tree.Link(place(header.Linkname), name)
	case tar.TypeReg:
		file, err := tree.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Chmod(mode), file.Close())
	}
	return fmt.Errorf("%s is neither a file nor a directory nor a link", header.Name)
}
