package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Release is one version that the catalog knows.
type Release struct {
	// Version without a leading v.
	Version string
	// Image with registry and tag or digest.
	Image string
}

// Catalog is what an engine's versions are, newest last. The order is the
// order of releases inside a minor, and of minors.
type Catalog struct {
	Releases []Release
	// Default is the version that create takes.
	Default string
}

// Resolve turns "3.6", "v3.6.16" or "3.6.16" into a known release; for a
// minor the newest patch. An error names what is known.
func (c Catalog) Resolve(version string) (Release, error) {
	want := strings.TrimPrefix(version, "v")
	for _, r := range slices.Backward(c.Releases) {

		if r.Version == want || (strings.Count(want, ".") == 1 && strings.HasPrefix(r.Version, want+".")) {
			return r, nil
		}
	}
	known := make([]string, len(c.Releases))
	for i, r := range c.Releases {
		known[i] = r.Version
	}
	return Release{}, &Refusal{
		Check: "version", Unknown: true,
		Reason: fmt.Sprintf("version %q is not known", version),
		Hint:   fmt.Sprintf("choose one of %s, or name the image yourself with --image", strings.Join(known, ", ")),
	}
}

// Nearest is Resolve, and for a release that the catalog doesn't list the
// newest of its minor: data of a database that something else made.
func (c Catalog) Nearest(version string) (Release, error) {
	r, err := c.Resolve(version)
	if err == nil {
		return r, nil
	}
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 3 {
		return r, err
	}
	if near, found := c.Resolve(parts[0] + "." + parts[1]); found == nil {
		return near, nil
	}
	return r, err
}

// Mirrored replaces the registry host of an image by registry; "" leaves it.
func Mirrored(image, registry string) string {
	if registry == "" {
		return image
	}
	host, rest, ok := strings.Cut(image, "/")
	if !ok || (!strings.ContainsAny(host, ".:") && host != "localhost") {
		return registry + "/" + image
	}
	return registry + "/" + rest
}
