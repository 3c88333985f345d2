package dist

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/hack/release/krew"
)

// The programs of a release: the plugin, and what runs beside a database server.
const (
	pluginProgram = "kubectl-dbop"
	agentProgram  = "dbop-agent"
)

// checkAgents wants the agent for each Linux, and both programs in the image.
func (r *Release) checkAgents() []error {
	wanted, err := platforms(r.Source, agentProgram)
	if err != nil {
		return []error{err}
	}
	var problems []error
	var built []string
	for _, a := range r.agents {
		built = append(built, a.OS+"/"+a.Arch)
		// The list names files from the tree's top, where the directory of the release is.
		path := filepath.Join(filepath.Dir(r.Dir), filepath.FromSlash(a.Path))
		if _, err := checkProgram(path, krew.Archive{OS: a.OS, Arch: a.Arch}); err != nil {
			problems = append(problems, fmt.Errorf("%s for %s/%s: %w", agentProgram, a.OS, a.Arch, err))
		}
	}
	slices.Sort(built)
	if !slices.Equal(built, wanted) {
		problems = append(problems, fmt.Errorf("%s is there for %v, goreleaser builds it for %v", agentProgram, built,
			wanted))
	}
	recipe, err := os.ReadFile(filepath.Join(r.Source, "hack", "release", "image", "Dockerfile"))
	for _, program := range []string{pluginProgram, agentProgram} {
		if err != nil || !bytes.Contains(recipe, []byte("COPY $TARGETPLATFORM/"+program+" /usr/local/bin/"+program+"\n")) {
			problems = append(problems, wrong(err, "the image has no %s", program))
		}
	}
	return problems
}
