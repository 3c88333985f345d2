package repository

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is the scheme of a repository's URL.
type Kind string

const (
	// KindDirectory is a directory of the machine that runs the tool.
	KindDirectory Kind = "dir"
	// KindClaim is a PersistentVolumeClaim of the database cluster's namespace.
	KindClaim Kind = "pvc"
)

// ErrLocation: the text is no URL of a repository.
var ErrLocation = errors.New("not a repository")

// forms is what every refusal ends with.
const forms = `write "dir:/absolute/path" or "pvc:claim[/sub/path]"`

// Location says where a repository is. ParseLocation(l.String()) is l again.
type Location struct {
	Kind Kind
	// Path of the directory, in the machine's own form, maybe relative; or
	// inside the claim, slash-separated without a leading slash, "" for its root.
	Path string
	// Claim is the PersistentVolumeClaim's name, for KindClaim only.
	Claim string
}

// ParseLocation reads "dir:/path", "pvc:claim[/sub/path]", or a bare path that
// begins with "/", "./" or "../". Paths come back cleaned; a relative one stays
// relative, see Within.
func ParseLocation(url string) (Location, error) {
	if !utf8.ValidString(url) || strings.ContainsFunc(url, unicode.IsControl) {
		return Location{}, fmt.Errorf("%w: %q holds characters that cannot be printed; %s", ErrLocation, url, forms)
	}
	scheme, rest, found := strings.Cut(url, ":")
	switch {
	case url == "":
		return Location{}, fmt.Errorf("%w: it is empty; %s", ErrLocation, forms)
	case bare(url):
		return Location{Kind: KindDirectory, Path: filepath.Clean(url)}, nil
	case found && Kind(scheme) == KindDirectory:
		return parseDirectory(url, rest)
	case found && Kind(scheme) == KindClaim:
		return parseClaim(url, rest)
	case found && scheme == "file":
		return Location{}, fmt.Errorf("%w: %q; for a local directory write \"dir:%s\"", ErrLocation, url,
			strings.TrimPrefix(rest, "//"))
	case found && strings.HasPrefix(rest, "//"):
		return Location{}, fmt.Errorf("%w: %q: scheme %q is not supported; %s", ErrLocation, url, scheme, forms)
	}
	return Location{}, fmt.Errorf("%w: %q could be a directory (\"dir:./%s\") or a claim (\"pvc:%s\"); say which",
		ErrLocation, url, url, url)
}

// String is the canonical URL.
func (l Location) String() string {
	if l.Kind == KindClaim && l.Path != "" {
		return string(l.Kind) + ":" + l.Claim + "/" + l.Path
	}
	if l.Kind == KindClaim {
		return string(l.Kind) + ":" + l.Claim
	}
	if strings.HasPrefix(l.Path, "~") {
		return string(l.Kind) + ":./" + l.Path
	}
	return string(l.Kind) + ":" + l.Path
}

// Within resolves a relative directory against base, which is usually the
// working directory. Other locations come back unchanged.
func (l Location) Within(base string) Location {
	if l.Kind == KindDirectory && !filepath.IsAbs(l.Path) {
		l.Path = filepath.Join(base, l.Path)
	}
	return l
}

func bare(url string) bool {
	return url == "." || url == ".." || strings.HasPrefix(url, "/") ||
		strings.HasPrefix(url, "./") || strings.HasPrefix(url, "../")
}

func parseDirectory(url, rest string) (Location, error) {
	switch {
	case rest == "":
		return Location{}, fmt.Errorf("%w: %q names no directory; %s", ErrLocation, url, forms)
	case rest == "~" || strings.HasPrefix(rest, "~/"):
		return Location{}, fmt.Errorf("%w: %q: \"~\" is not expanded behind \"dir:\"; write the whole path", ErrLocation, url)
	}
	return Location{Kind: KindDirectory, Path: filepath.Clean(rest)}, nil
}

func parseClaim(url, rest string) (Location, error) {
	claim, sub, _ := strings.Cut(rest, "/")
	if !validClaim(claim) {
		return Location{}, fmt.Errorf("%w: %q: %q cannot be the name of a PersistentVolumeClaim; %s",
			ErrLocation, url, claim, forms)
	}
	for part := range strings.SplitSeq(sub, "/") {
		if part == ".." {
			return Location{}, fmt.Errorf("%w: %q leads out of the claim; leave \"..\" out", ErrLocation, url)
		}
	}
	// Cleaning below "/" drops every "." and doubled slash.
	return Location{Kind: KindClaim, Claim: claim, Path: path.Clean("/" + sub)[1:]}, nil
}

// validClaim applies the rule of Kubernetes for names that are DNS subdomains.
func validClaim(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}
