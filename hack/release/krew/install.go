package krew

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxUnpacked bounds what one file of an archive may grow to.
const maxUnpacked = 512 << 20

// Install does to an archive what krew does: it checks its sum, unpacks it,
// and copies the platform's files into dir. What krew would refuse is refused:
// another sum, a file that is not there, a program that is not in dir in the end.
func Install(p Platform, archive, dir string) error {
	sum, err := Sum(archive)
	if err != nil {
		return err
	}
	if sum != p.SHA256 {
		return fmt.Errorf("%s has the sum %s and the manifest says %s", filepath.Base(archive), sum, p.SHA256)
	}
	packed, err := os.MkdirTemp("", "krew")
	if err != nil {
		return fmt.Errorf("install %s: %w", archive, err)
	}
	defer func() { _ = os.RemoveAll(packed) }()
	if err := Unpack(archive, packed); err != nil {
		return fmt.Errorf("unpack %s: %w", archive, err)
	}
	files := p.Files
	if files == nil {
		files = []File{{From: "*", To: "."}}
	}
	for _, f := range files {
		if err := place(packed, dir, f); err != nil {
			return fmt.Errorf("install %s: %w", filepath.Base(archive), err)
		}
	}
	for _, name := range []string{p.Bin, "LICENSE"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("install %s: %s is not among what is installed", filepath.Base(archive), name)
		}
	}
	return nil
}

// Sum is the SHA-256 of a file, in lower-case hexadecimal digits.
func Sum(file string) (string, error) {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return "", fmt.Errorf("sum of %s: %w", file, err)
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("sum of %s: %w", file, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func place(from, to string, f File) error {
	found, err := filepath.Glob(filepath.Join(from, filepath.FromSlash(f.From)))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("%s is not in the archive", f.From)
	}
	for _, source := range found {
		target := filepath.Join(to, filepath.FromSlash(f.To), filepath.Base(source))
		if err := copyFile(source, target); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(filepath.Clean(from))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	facts, err := in.Stat()
	if err != nil || facts.IsDir() {
		return err
	}
	return write(to, in, facts.Mode())
}

func write(name string, content io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Clean(name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode.Perm())
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(content, maxUnpacked))
	if n == maxUnpacked {
		err = errors.New("it is too large")
	}
	return errors.Join(err, out.Close())
}

// Unpack unpacks a .tar.gz or a .zip, and refuses one that leads out of dir.
func Unpack(archive, dir string) error {
	if strings.HasSuffix(archive, ".zip") {
		return unzip(archive, dir)
	}
	f, err := os.Open(filepath.Clean(archive))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	packed, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for in := tar.NewReader(packed); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if !inside(path.Clean(h.Name)) {
			return fmt.Errorf("%s leads out of the archive", h.Name)
		}
		if err := write(filepath.Join(dir, filepath.FromSlash(h.Name)), in, h.FileInfo().Mode()); err != nil {
			return err
		}
	}
}

func unzip(archive, dir string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer func() { _ = z.Close() }()
	for _, file := range z.File {
		if file.FileInfo().IsDir() {
			continue
		}
		if !inside(path.Clean(file.Name)) {
			return fmt.Errorf("%s leads out of the archive", file.Name)
		}
		content, err := file.Open()
		if err != nil {
			return err
		}
		err = write(filepath.Join(dir, filepath.FromSlash(file.Name)), content, file.Mode())
		if err := errors.Join(err, content.Close()); err != nil {
			return err
		}
	}
	return nil
}
