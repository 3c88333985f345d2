package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Release is a release of a database server that hack/cluster made of Debian's packages. Every node has its image.
type Release struct {
	Major int `json:"major"`
	// Version is that of the database, "15.20" or "8.1.1", and the tag of Image.
	Version string `json:"version"`
	Image   string `json:"image"`
	// Root is a directory on this machine that has the files of the image.
	Root string `json:"root"`
}

// Releases lists the releases of a major version of a family, "postgres", "valkey" or "redis", the newest first. Which
// ones there are is up to Debian.
func Releases(family string, major int) ([]Release, error) {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(toolsDir()), family, "*", "release.json"))
	if err != nil {
		return nil, fmt.Errorf("list the releases of %s: %w", family, err)
	}
	var found []Release
	for _, file := range files {
		raw, err := os.ReadFile(file) //nolint:gosec // the path is ours
		if err != nil {
			return nil, fmt.Errorf("read a release of %s: %w", family, err)
		}
		var r Release
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, fmt.Errorf("read a release of %s in %s: %w", family, file, err)
		}
		same := func(other Release) bool { return other.Version == r.Version }
		if r.Major == major && !slices.ContainsFunc(found, same) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b Release) int { return slices.Compare(b.parts(), a.parts()) })
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no %s %d on this machine: run bin/cluster build %s", family, major, family)
	}
	return found, nil
}

// parts are the numbers after the major one; of a beta version there are none.
func (r Release) parts() []int {
	_, digits, _ := strings.Cut(r.Version, ".")
	var out []int
	for part := range strings.SplitSeq(digits, ".") {
		n, _ := strconv.Atoi(part)
		out = append(out, n)
	}
	return out
}
