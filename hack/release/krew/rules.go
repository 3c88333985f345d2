package krew

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// maxShort is what reviewers of the index accept as one line.
const maxShort = 50

// Check judges a manifest that lies in a file of that name, by the rules that
// the index's own validator applies and the ones its reviewers ask for. All
// that is wrong is in the error, joined.
func Check(m Manifest, file string) error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if m.APIVersion != APIVersion || m.Kind != Kind {
		wrong("it is a %s of %s, not a %s of %s", m.Kind, m.APIVersion, Kind, APIVersion)
	}
	if want := m.Metadata.Name + ".yaml"; filepath.Base(file) != want {
		wrong("the file is called %s, not %s", filepath.Base(file), want)
	}
	if !nameFits(m.Metadata.Name) {
		wrong("%q can't be a plugin's name", m.Metadata.Name)
	}
	if err := CheckVersion(m.Spec.Version); err != nil {
		problems = append(problems, err)
	}
	switch short := m.Spec.ShortDescription; {
	case short == "" || strings.ContainsAny(short, "\r\n"):
		wrong("shortDescription must be one line")
	case len(short) > maxShort:
		wrong("shortDescription has %d characters, at most %d pass", len(short), maxShort)
	}
	for i, line := range strings.Split(m.Spec.Description, "\n") {
		if len(line) > 80 {
			wrong("line %d of the description is longer than 80 characters", i+1)
		}
	}
	if m.Spec.Homepage == "" {
		wrong("homepage is missing")
	}
	if len(m.Spec.Platforms) == 0 {
		wrong("there is no platform")
	}
	for i, p := range m.Spec.Platforms {
		if err := checkPlatform(p); err != nil {
			wrong("platform %d: %w", i+1, err)
		}
	}
	return errors.Join(append(problems, checkOverlap(m.Spec.Platforms))...)
}

func nameFits(name string) bool {
	reserved := []string{"CON", "PRN", "AUX", "NUL"}
	for i := range 10 {
		reserved = append(reserved, fmt.Sprintf("COM%d", i), fmt.Sprintf("LPT%d", i))
	}
	return regexp.MustCompile(`^[\w-]+$`).MatchString(name) && !slices.Contains(reserved, strings.ToUpper(name))
}

// CheckVersion refuses what is no version of a release. A tag becomes the
// version of the program and of its image.
func CheckVersion(version string) error {
	if !regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`).MatchString(
		version) {
		return fmt.Errorf("version %q is not semver with a leading v, such as v1.2.3", version)
	}
	return nil
}

func checkPlatform(p Platform) error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if p.URI == "" {
		wrong("uri is missing")
	} else if !strings.HasSuffix(p.URI, ".tar.gz") && !strings.HasSuffix(p.URI, ".zip") {
		wrong("%s is neither .tar.gz nor .zip", path.Base(p.URI))
	}
	if !regexp.MustCompile(`^[a-f0-9]{64}$`).MatchString(p.SHA256) {
		wrong("sha256 %q is not 64 lower-case hexadecimal digits", p.SHA256)
	}
	switch {
	case p.Bin == "":
		wrong("bin is missing")
	case !inside(p.Bin):
		wrong("bin %q leads out of the place of installation", p.Bin)
	}
	if p.Files != nil && len(p.Files) == 0 {
		wrong("files is there and empty")
	}
	licensed := p.Files == nil
	for _, f := range p.Files {
		if f.From == "" || f.To == "" {
			wrong("an entry of files lacks from or to")
		}
		if !inside(f.To) {
			wrong("file %q leads out of the place of installation", f.To)
		}
		licensed = licensed || f.From == "*" || path.Base(f.From) == "LICENSE"
	}
	if !licensed {
		wrong("LICENSE is not installed")
	}
	served, err := p.Selector.pairs()
	if err != nil {
		wrong("%w", err)
	} else if len(served) == 0 {
		wrong("the selector matches nothing that krew runs on")
	}
	for _, pair := range served {
		if windows := strings.HasPrefix(pair, "windows/"); windows != strings.HasSuffix(p.Bin, ".exe") {
			wrong("bin %q on %s", p.Bin, pair)
		}
	}
	return errors.Join(problems...)
}

func inside(name string) bool {
	return name != "" && filepath.IsLocal(filepath.FromSlash(name)) && !strings.Contains(name, `\`)
}

// supported are the pairs of system and processor that the index installs on.
func supported() []string {
	return []string{
		"darwin/386", "darwin/amd64", "darwin/arm64",
		"linux/386", "linux/amd64", "linux/arm", "linux/arm64", "linux/ppc64le",
		"windows/386", "windows/amd64", "windows/arm64",
	}
}

// pairs are those that a selector matches.
func (s *Selector) pairs() ([]string, error) {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return nil, errors.New("the selector is empty")
	}
	keys := slices.Collect(maps.Keys(s.MatchLabels))
	for _, e := range s.MatchExpressions {
		keys = append(keys, e.Key)
		if !slices.Contains([]string{"In", "NotIn", "Exists", "DoesNotExist"}, e.Operator) {
			return nil, fmt.Errorf("the selector has the operator %q", e.Operator)
		}
	}
	for _, key := range keys {
		if key != "os" && key != "arch" {
			return nil, fmt.Errorf("the selector asks for %q, and only os and arch are known", key)
		}
	}
	var out []string
	for _, pair := range supported() {
		system, processor, _ := strings.Cut(pair, "/")
		if s.matches(map[string]string{"os": system, "arch": processor}) {
			out = append(out, pair)
		}
	}
	return out, nil
}

func (s *Selector) matches(labels map[string]string) bool {
	for key, value := range s.MatchLabels {
		if labels[key] != value {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		listed := slices.Contains(e.Values, labels[e.Key])
		if (e.Operator == "In" && !listed) || (e.Operator == "NotIn" && listed) || e.Operator == "DoesNotExist" {
			return false
		}
	}
	return true
}

// checkOverlap refuses two platforms for one machine.
func checkOverlap(platforms []Platform) error {
	taken := map[string]int{}
	var problems []error
	for i, p := range platforms {
		served, err := p.Selector.pairs()
		if err != nil {
			continue // Said already.
		}
		for _, pair := range served {
			if other, ok := taken[pair]; ok {
				problems = append(problems, fmt.Errorf("platforms %d and %d both match %s", other, i+1, pair))
				continue
			}
			taken[pair] = i + 1
		}
	}
	return errors.Join(problems...)
}

// Pairs are all systems and processors that a manifest serves, sorted.
func (m Manifest) Pairs() []string {
	var out []string
	for _, p := range m.Spec.Platforms {
		served, _ := p.Selector.pairs()
		out = append(out, served...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
