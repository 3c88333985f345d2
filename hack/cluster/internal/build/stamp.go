package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// stamp is a digest of all that decides how the target comes out. Comparing
// it takes a millisecond; asking the go command takes seconds, each time.
func (t Target) stamp(at site.Site) (string, error) {
	digest := sha256.New()
	fmt.Fprintln(digest, runtime.Version(), t.steps, t.links)
	for _, pattern := range t.inputs {
		files, err := filepath.Glob(filepath.Join(at.Source, pattern))
		if err != nil {
			return "", fmt.Errorf("list the sources of %s: %w", t.Name, err)
		}
		for _, path := range files {
			if err := add(digest, path); err != nil {
				return "", fmt.Errorf("read the sources of %s: %w", t.Name, err)
			}
		}
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// add puts one file into the digest.
func add(digest io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	fmt.Fprintln(digest, filepath.Base(path))
	_, err = io.Copy(digest, file)
	return err
}

// stampFile is where the stamp of the last good build is kept.
func (t Target) stampFile(at site.Site) string { return at.Bin(".stamps", t.Name) }

// fresh reports whether the programs are there and are those of stamp.
func (t Target) fresh(at site.Site, stamp string) bool {
	kept, err := os.ReadFile(t.stampFile(at))
	if err != nil || string(kept) != stamp {
		return false
	}
	for _, output := range append(t.outputs, t.links...) {
		if _, err := os.Stat(at.Bin(output)); err != nil {
			return false
		}
	}
	return true
}

// keep remembers the stamp of a good build.
func (t Target) keep(at site.Site, stamp string) error {
	if err := os.MkdirAll(filepath.Dir(t.stampFile(at)), 0o755); err != nil {
		return fmt.Errorf("make the directory for build stamps: %w", err)
	}
	if err := os.WriteFile(t.stampFile(at), []byte(stamp), 0o644); err != nil {
		return fmt.Errorf("keep the build stamp of %s: %w", t.Name, err)
	}
	return nil
}
