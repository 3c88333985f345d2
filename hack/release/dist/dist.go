// Package dist judges the files of a release before anybody can download them.
package dist

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/dbop-dev/kubectl-dbop/hack/release/krew"
)

// The files that lie beside what goreleaser lists.
const (
	Checksums = "checksums.txt"
	sbomTail  = ".spdx.json"
)

// Release is one release, or a snapshot of one, on this machine.
type Release struct {
	// Source is the tree it was made from, Dir where goreleaser put it, and
	// Manifests where the manifests are that go with it.
	Source, Dir, Manifests string
	Version                string
	Archives               []krew.Archive
	// Packages are the names of deb and rpm files.
	Packages []string
	// agents are the programs that are in the image alone.
	agents []artifact
}

// artifact is a line of goreleaser's own list.
type artifact struct {
	Name, Path, Type string
	OS               string `json:"goos"`
	Arch             string `json:"goarch"`
}

// Read finds a release and sums its archives.
func Read(source, dir, manifests string) (*Release, error) {
	r := &Release{Source: source, Dir: dir, Manifests: manifests}
	var facts struct{ Version string }
	if err := readJSON(filepath.Join(dir, "metadata.json"), &facts); err != nil {
		return nil, err
	}
	r.Version = "v" + facts.Version
	var all []artifact
	if err := readJSON(filepath.Join(dir, "artifacts.json"), &all); err != nil {
		return nil, err
	}
	for _, a := range all {
		switch a.Type {
		case "Archive":
			sum, err := krew.Sum(filepath.Join(dir, a.Name))
			if err != nil {
				return nil, err
			}
			r.Archives = append(r.Archives, krew.Archive{OS: a.OS, Arch: a.Arch, Name: a.Name, SHA256: sum})
		case "Linux Package":
			r.Packages = append(r.Packages, a.Name)
		case "Binary":
			if a.Name == agentProgram {
				r.agents = append(r.agents, a)
			}
		}
	}
	slices.SortFunc(r.Archives, func(a, b krew.Archive) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(r.Packages)
	if len(r.Archives) == 0 {
		return nil, fmt.Errorf("there is no archive in %s", dir)
	}
	return r, nil
}

func readJSON(path string, into any) error {
	raw, err := os.ReadFile(filepath.Clean(path))
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// Manifest renders the krew manifest of a release from the template in the tree.
func (r *Release) Manifest() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(r.Source, "krew", "dbop.tmpl.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the template of the krew manifest: %w", err)
	}
	return krew.Render(string(text), krew.Release{Version: r.Version, Archives: r.Archives,
		Base: "https://github.com/dbop-dev/kubectl-dbop/releases/download/" + r.Version})
}

// Platforms are those that .goreleaser.yaml builds the plugin for, sorted.
func Platforms(source string) ([]string, error) { return platforms(source, pluginProgram) }

func platforms(source, program string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(source, ".goreleaser.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read what goreleaser builds: %w", err)
	}
	var config struct {
		Builds []struct {
			Binary string   `json:"binary"`
			OS     []string `json:"goos"`
			Arch   []string `json:"goarch"`
		} `json:"builds"`
	}
	if err := yaml.Unmarshal(raw, &config); err != nil {
		return nil, fmt.Errorf("read what goreleaser builds: %w", err)
	}
	var out []string
	for _, b := range config.Builds {
		if b.Binary != program {
			continue
		}
		for _, system := range b.OS {
			for _, processor := range b.Arch {
				out = append(out, system+"/"+processor)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("goreleaser builds %s for no platform", program)
	}
	slices.Sort(out)
	return out, nil
}
