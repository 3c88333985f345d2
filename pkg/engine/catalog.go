package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Release is one version that the catalog knows.
type Release struct {
	// Version without a leading v, and its Series as Versions has it.
	Version, Series string
	// Image with registry and tag or digest.
	Image string
}

// Catalog is what an engine's versions are, in the order of Versions, newest last.
type Catalog struct {
	Releases []Release
	// Default is the version that create takes.
	Default string
}

// Resolve finds the known release for "3.6", "v3.6.16" or "3.6.16"; of a series
// it is the newest. An error names what is known.
func (c Catalog) Resolve(version string) (Release, error) {
	want := strings.TrimPrefix(version, "v")
	for _, r := range slices.Backward(c.Releases) {

		if want != "" && (r.Version == want || r.Series == want) {
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
