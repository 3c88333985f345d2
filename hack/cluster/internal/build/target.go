// Package build makes the cluster's programs out of Go modules, and only
// when something they are made of has changed.
package build

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Versions of what is built. Those of the components and of etcd stand in
// the go.mod files; this one has none because it is a program as it is.
const (
	kubernetesVersion = "v1.36.3"
	coreDNS           = "github.com/coredns/coredns@v1.15.0"
	module            = "github.com/dbop-dev/kubectl-dbop/hack/cluster"
)

// Target is one thing to build: some go commands and what they depend on.
type Target struct {
	// Name is what `cluster build` takes.
	Name string
	// dir is where the commands run, relative to the source.
	dir string
	// steps are the go command lines; %BIN% means the bin directory.
	steps [][]string
	// last is the import path of the program that the last step compiles.
	last string
	// packages is how many packages are compiled for it on a machine that has
	// built nothing but the targets before it. It tells the time left.
	packages int
	// inputs are patterns, relative to the source, of the files that decide
	// whether the target is up to date.
	inputs []string
	// outputs are the programs, relative to the bin directory.
	outputs []string
	// links are further names of the first output.
	links []string
}

// flags build small static programs that are the same wherever they are
// built.
var flags = []string{"-trimpath", "-buildvcs=false"}

// Targets lists everything, the most wanted first.
func Targets() []Target {
	version := "k8s.io/component-base/version."
	targets := []Target{{
		Name: "components", dir: "components",
		steps: [][]string{compile("-s -w -X "+version+"gitVersion="+kubernetesVersion+
			" -X "+version+"gitMajor=1 -X "+version+"gitMinor=36 -X "+version+"gitTreeState=clean",
			"%BIN%/components", ".")},
		inputs:   []string{"components/*.go", "components/go.mod", "components/go.sum"},
		outputs:  []string{"components"},
		links:    []string{"kubectl"},
		last:     module + "/components",
		packages: 2850,
	}}
	for _, minor := range []string{"etcd-3.5", "etcd-3.6", "etcd-3.7"} {
		targets = append(targets, etcd(minor))
	}
	return append(targets,
		Target{
			Name: "coredns",
			steps: [][]string{slices.Concat([]string{"install", "-v"}, flags,
				[]string{"-ldflags", "-s -w", coreDNS})},
			outputs:  []string{"coredns"},
			last:     "github.com/coredns/coredns",
			packages: 700,
		},
		own("provisioner", "provisioner/*.go", "provisioner/*/*.go"),
		own("pause", "pause/*.go"),
	)
}

// etcd builds the three programs of one minor release from its own module.
func etcd(minor string) Target {
	target := Target{
		Name:   minor,
		dir:    filepath.Join("images", minor),
		inputs: []string{filepath.Join("images", minor, "go.*")},
		// The steps are sorted by what they build.
		last:     "go.etcd.io/etcd/etcdutl/v3",
		packages: 170,
	}
	for program, path := range map[string]string{"etcd": "server", "etcdctl": "etcdctl", "etcdutl": "etcdutl"} {
		target.steps = append(target.steps,
			compile("-s -w", "%BIN%/"+minor+"/"+program, "go.etcd.io/etcd/"+path+"/v3"))
		target.outputs = append(target.outputs, filepath.Join(minor, program))
	}
	slices.SortFunc(target.steps, slices.Compare)
	slices.Sort(target.outputs)
	return target
}

// own builds a program of this module.
func own(name string, inputs ...string) Target {
	return Target{
		Name:    name,
		steps:   [][]string{compile("-s -w", "%BIN%/"+name, "./"+name)},
		inputs:  append(inputs, "go.mod", "go.sum"),
		outputs: []string{name},
		last:    module + "/" + name,
	}
}

// compile is the command line of a build.
func compile(ldflags, output, pkg string) []string {
	return slices.Concat([]string{"build", "-v"}, flags, []string{"-ldflags", ldflags, "-o", output, pkg})
}

// Select picks targets by name; "etcd" is all releases of it, "kubectl" is
// in the components. Without names it is everything.
func Select(names []string) ([]Target, error) {
	all := Targets()
	if len(names) == 0 {
		return all, nil
	}
	var picked []Target
	for _, name := range names {
		before := len(picked)
		for _, target := range all {
			if target.Name == name || slices.Contains(target.links, name) || strings.HasPrefix(target.Name, name+"-") {
				picked = append(picked, target)
			}
		}
		if len(picked) == before {
			return nil, fmt.Errorf("there is nothing called %q to build; there are: %s", name, strings.Join(namesOf(all), " "))
		}
	}
	return picked, nil
}

// namesOf lists what can be asked for.
func namesOf(targets []Target) []string {
	names := []string{"etcd", "kubectl"}
	for _, target := range targets {
		names = append(names, target.Name)
	}
	return names
}

// expand puts the bin directory into a command line.
func expand(step []string, at site.Site) []string {
	expanded := slices.Clone(step)
	for i := range expanded {
		expanded[i] = strings.ReplaceAll(expanded[i], "%BIN%", at.Bin())
	}
	return expanded
}
