package dist

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/release/krew"
)

// Check judges a release and its krew manifest. All that is wrong is in the error, joined.
func Check(r *Release, manifest string) error {
	problems := []error{krew.CheckVersion(r.Version)}
	sums, err := r.sums()
	if err != nil {
		return err
	}
	wanted, err := Platforms(r.Source)
	if err != nil {
		return err
	}
	problems = append(problems, r.checkManifest(manifest, wanted)...)
	for _, a := range r.Archives {
		if sums[a.Name] != a.SHA256 {
			problems = append(problems, fmt.Errorf("%s says %q of %s, which has %s", Checksums, sums[a.Name], a.Name, a.SHA256))
		}
		if err := r.checkArchive(a); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", a.Name, err))
		}
	}
	problems = append(problems, r.checkPackages(sums, wanted)...)
	problems = append(problems, r.checkAgents()...)
	return errors.Join(append(problems, r.checkManifests(sums)...)...)
}

// sums reads the list that is signed.
func (r *Release) sums() (map[string]string, error) {
	raw, err := os.ReadFile(filepath.Join(r.Dir, Checksums))
	if err != nil {
		return nil, fmt.Errorf("read the sums: %w", err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			out[fields[1]] = fields[0]
		}
	}
	return out, nil
}

// checkManifest holds the manifest against the rules, against the archives and
// against what goreleaser is told to build.
func (r *Release) checkManifest(manifest string, wanted []string) []error {
	raw, err := os.ReadFile(filepath.Clean(manifest))
	if err != nil {
		return []error{fmt.Errorf("read the krew manifest: %w", err)}
	}
	m, err := krew.Parse(raw)
	if err != nil {
		return []error{err}
	}
	problems := []error{krew.Check(m, manifest)}
	if m.Spec.Version != r.Version {
		problems = append(problems, fmt.Errorf("the krew manifest is of %s, the release is %s", m.Spec.Version, r.Version))
	}
	if served := m.Pairs(); !slices.Equal(served, wanted) {
		problems = append(problems, fmt.Errorf("the krew manifest serves %v, goreleaser builds for %v", served, wanted))
	}
	for _, p := range m.Spec.Platforms {
		name := p.URI[strings.LastIndex(p.URI, "/")+1:]
		at := slices.IndexFunc(r.Archives, func(a krew.Archive) bool { return a.Name == name })
		if at < 0 {
			problems = append(problems, fmt.Errorf("the krew manifest names %s, which is not in the release", name))
			continue
		}
		if p.SHA256 != r.Archives[at].SHA256 {
			problems = append(problems, fmt.Errorf("the krew manifest says sha256 %s of %s, which has %s", p.SHA256, name,
				r.Archives[at].SHA256))
			continue
		}
		if err := installs(p, filepath.Join(r.Dir, name)); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

func installs(p krew.Platform, archive string) error {
	dir, err := os.MkdirTemp("", "installed")
	if err != nil {
		return fmt.Errorf("install %s: %w", archive, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return krew.Install(p, archive, dir)
}

// checkPackages wants a deb and an rpm of each Linux.
func (r *Release) checkPackages(sums map[string]string, wanted []string) []error {
	var problems []error
	for _, platform := range wanted {
		system, processor, _ := strings.Cut(platform, "/")
		for _, kind := range []string{".deb", ".rpm"} {
			name := fmt.Sprintf("kubectl-dbop_%s_%s_%s%s", r.Version, system, processor, kind)
			if system != "linux" {
				continue
			}
			sum, err := krew.Sum(filepath.Join(r.Dir, name))
			if err != nil || !slices.Contains(r.Packages, name) || sums[name] != sum {
				problems = append(problems, wrong(err, "the package %s is missing or has another sum than %s says", name,
					Checksums))
			}
		}
	}
	return problems
}

// checkManifests wants what is applied to a cluster: all there, summed, and of this version.
func (r *Release) checkManifests(sums map[string]string) []error {
	found, err := filepath.Glob(filepath.Join(r.Manifests, "*"))
	if err != nil {
		return []error{err}
	}
	var problems []error
	for _, path := range found {
		name := filepath.Base(path)
		if sum, err := krew.Sum(path); err != nil || sums[name] != sum {
			problems = append(problems, wrong(err, "%s says %q of %s, which has %s", Checksums, sums[name], name, sum))
		}
	}
	installed, err := os.ReadFile(filepath.Join(r.Manifests, "install.yaml"))
	if err != nil || !bytes.Contains(installed, []byte("image: ghcr.io/dbop-dev/kubectl-dbop:"+r.Version+"\n")) {
		problems = append(problems, wrong(err, "install.yaml is missing or runs another image than that of %s", r.Version))
	}
	definitions, err := filepath.Glob(filepath.Join(r.Source, "deploy", "crd", "*.yaml"))
	if err != nil || len(definitions) == 0 {
		problems = append(problems, wrong(err, "there are no definitions in the tree"))
	}
	for _, path := range definitions {
		ours, errOurs := os.ReadFile(filepath.Clean(path))
		theirs, errTheirs := os.ReadFile(filepath.Join(r.Manifests, filepath.Base(path)))
		if err := errors.Join(errOurs, errTheirs); err != nil || !bytes.Equal(ours, theirs) {
			problems = append(problems, wrong(err, "%s is not what the tree has", filepath.Base(path)))
		}
	}
	return problems
}

// wrong says what is wrong and, where there is one, which error showed it.
func wrong(err error, format string, args ...any) error {
	problem := fmt.Errorf(format, args...)
	if err != nil {
		return fmt.Errorf("%w: %w", problem, err)
	}
	return problem
}
