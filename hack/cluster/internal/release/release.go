// Package release has the releases of database servers that tests run: as directory trees made from Debian's packages,
// in the cache. Which versions these are is up to Debian, and written down beside each tree.
package release

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// layout changes when the trees are made in another way: they are made again then.
const layout = 1

// Release is one release to make.
type Release struct {
	// Family is the database, and the directory in the cache; Name is the directory in it.
	Family, Name string
	Major        int
	// suites are where its packages come from.
	suites []string
	recipe recipe
}

// recipe is how a family is made.
type recipe struct {
	// server is the package whose version is that of the release, packages are all that are wanted.
	server   string
	packages []string
	// without are packages that only an installed system needs, dropped are files that no server and no script needs.
	without, dropped []string
	// programs are tried, with the option --version; says is what they answer before the version.
	programs []string
	says     string
	// image is the repository of the official image.
	image string
}

// All lists the releases of every family.
func All() []Release { return slices.Concat(postgres(), valkey(), redis()) }

// Select takes the names of releases out of a list, "postgres" for all of a family or "postgres-15", and returns the
// other names. With an empty list all is true: everything is wanted.
func Select(names []string) (wanted []Release, others []string, all bool) {
	if len(names) == 0 {
		return All(), nil, true
	}
	for _, name := range names {
		before := len(wanted)
		for _, r := range All() {
			if name == r.Family || name == r.Family+"-"+r.Name {
				wanted = append(wanted, r)
			}
		}
		if len(wanted) == before {
			others = append(others, name)
		}
	}
	return wanted, others, false
}

// Built is a release that is in the cache. Its fields are also the content of release.json, which tests read.
type Built struct {
	Family string `json:"family"`
	Major  int    `json:"major"`
	// Version is that of the database, "15.20".
	Version string `json:"version"`
	// Image is what pods call it.
	Image string `json:"image"`
	// Root is the directory that has usr/bin, and for PostgreSQL usr/lib/postgresql/MAJOR/bin.
	Root string `json:"root"`
	// Stamp is a digest of what decides how the tree comes out, the state of Debian apart.
	Stamp string `json:"stamp"`
}

// dir is where the release is kept.
func (r Release) dir(at site.Site, parts ...string) string {
	return filepath.Join(append([]string{at.Cache, r.Family, r.Name}, parts...)...)
}

// Find returns a release that was made as it would be made now.
func (r Release) Find(at site.Site) (Built, bool) {
	content, err := os.ReadFile(r.dir(at, "release.json"))
	if err != nil {
		return Built{}, false
	}
	var found Built
	if err := json.Unmarshal(content, &found); err != nil || found.Stamp != r.stamp() {
		return Built{}, false
	}
	found.Family = r.Family
	return found, true
}

// InCache lists what is in the cache. Two releases may come out with the same version; it is listed once.
func InCache(at site.Site) []Built {
	var all []Built
	seen := map[string]bool{}
	for _, r := range All() {
		if found, ok := r.Find(at); ok && !seen[found.Image] {
			seen[found.Image] = true
			all = append(all, found)
		}
	}
	return all
}

func (r Release) stamp() string {
	digest := sha256.New()
	fmt.Fprintln(digest, layout, r.Major, r.suites, r.recipe.packages, r.recipe.without, r.recipe.dropped)
	return hex.EncodeToString(digest.Sum(nil))
}

// leave says whether a path is dropped.
func (r Release) leave(path string) bool {
	for _, pattern := range r.recipe.dropped {
		if ok, _ := filepath.Match(pattern, path); ok {
			return true
		}
	}
	return false
}

// versionOf reads the version of the database in the name of the server's package, without what Debian adds to it
// ("5%3a8.0.2-3").
func (r Release) versionOf(files []string) (string, error) {
	for _, file := range files {
		if rest, ok := strings.CutPrefix(filepath.Base(file), r.recipe.server+"_"); ok {
			if _, upstream, counted := strings.Cut(rest, "%3a"); counted {
				rest = upstream
			}
			version, _, _ := strings.Cut(rest, "-")
			version, _, _ = strings.Cut(version, "+")
			return version, nil
		}
	}
	return "", fmt.Errorf("find %s among what was downloaded: it is not there", r.recipe.server)
}
