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
	// KindNamed is a repository that has a name in the database cluster's
	// namespace. Its URL is the bare name.
	KindNamed Kind = "name"
)

// ErrLocation: the text is no URL of a repository.
var ErrLocation = errors.New("not a repository")

// forms is what every refusal ends with.
const forms = `write "dir:/absolute/path", "pvc:claim[/sub/path]" or the name of a repository`

// Location says where a repository is. ParseLocation(l.String()) is l again.
type Location struct {
	Kind Kind
	// Path of the directory, in the machine's own form, maybe relative; or
	// inside the claim, slash-separated without a leading slash, "" for its root.
	Path string
	// Claim is the PersistentVolumeClaim's name, for KindClaim only.
	Claim string
	// Name is the repository's name, for KindNamed only.
	Name string
}

// ParseLocation reads "dir:/path", "pvc:claim[/sub/path]", a bare path that
// begins with "/", "./" or "../", or the name of a repository. Paths come back
// cleaned; a relative one stays relative, see Within.
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
	case ValidName(url):
		return Location{Kind: KindNamed, Name: url}, nil
	case found && (scheme == "s3" || scheme == "gs" || scheme == "azblob"):
		// The URL is not repeated: it may hold a password.
		return Location{}, fmt.Errorf("%w: a URL of %q alone says neither where its keys are nor who may read; "+
			"give it a name by 'kubectl dbop repository add NAME --url URL', and write that name", ErrLocation, scheme)
	case found && scheme == "file":
		return Location{}, fmt.Errorf("%w: %q; for a local directory write \"dir:%s\"", ErrLocation, url,
			strings.TrimPrefix(rest, "//"))
	case found && strings.HasPrefix(rest, "//"):
		return Location{}, fmt.Errorf("%w: %q: scheme %q is not supported; %s", ErrLocation, url, scheme, forms)
	}
	return Location{}, fmt.Errorf("%w: %q is no name of one; it could be a directory (\"dir:./%s\") or a claim "+
		"(\"pvc:%s\"); say which", ErrLocation, url, url, url)
}

// maxName leaves room for suffixes in the names of objects.
const maxName = 40

// ValidName reports whether a text can be the name of a repository: small letters, digits and "-" inside.
func ValidName(name string) bool {
	return len(name) <= maxName && !strings.Contains(name, ".") && validClaim(name)
}

// String is the canonical URL.
func (l Location) String() string {
	if l.Kind == KindNamed {
		return l.Name
	}
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
		return Location{},
			fmt.Errorf("%w: %q: \"~\" is not expanded behind \"dir:\"; write the whole path", ErrLocation, url)
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
