package dist

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/release/krew"
	"github.com/dbop-dev/kubectl-dbop/hack/release/spdx"
)

// maxProgram is the largest program that a release may hold.
const maxProgram = 75_000_000

// checkArchive unpacks an archive and reads everything in it.
func (r *Release) checkArchive(a krew.Archive) error {
	dir, err := os.MkdirTemp("", "archive")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := krew.Unpack(filepath.Join(r.Dir, a.Name), dir); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	var problems []error
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		ours, errOurs := os.ReadFile(filepath.Join(r.Source, name))
		theirs, errTheirs := os.ReadFile(filepath.Join(dir, name))
		if err := errors.Join(errOurs, errTheirs); err != nil || !bytes.Equal(ours, theirs) {
			problems = append(problems, wrong(err, "%s is missing or not that of the tree", name))
		}
	}
	for _, name := range []string{
		"completions/kubectl-dbop.bash", "completions/kubectl-dbop.zsh", "completions/kubectl-dbop.fish",
		"completions/kubectl-dbop.ps1",
		"completions/kubectl_complete-dbop", "man/man1/kubectl-dbop.1", "man/man1/kubectl-dbop-create.1",
	} {
		if facts, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil || facts.Size() == 0 {
			problems = append(problems, wrong(err, "%s is missing or empty", name))
		}
	}
	program, err := checkProgram(filepath.Join(dir, a.Bin()), a)
	if err != nil {
		return errors.Join(append(problems, err)...)
	}
	return errors.Join(append(problems, r.checkSBOM(a, program))...)
}

// checkProgram reads how a program was built out of the program.
func checkProgram(path string, a krew.Archive) (*buildinfo.BuildInfo, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read how the program was built: %w", err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	var problems []error
	for key, want := range map[string]string{"GOOS": a.OS, "GOARCH": a.Arch, "CGO_ENABLED": "0", "-trimpath": "true"} {
		if settings[key] != want {
			problems = append(problems, fmt.Errorf("the program was built with %s=%s, not %s", key, settings[key], want))
		}
	}
	if facts, err := os.Stat(path); err != nil || facts.Size() > maxProgram {
		problems = append(problems, wrong(err, "the program is larger than %d bytes", maxProgram))
	}
	return info, errors.Join(problems...)
}

// checkSBOM wants a document that names exactly what is linked.
func (r *Release) checkSBOM(a krew.Archive, program *buildinfo.BuildInfo) error {
	var d spdx.Document
	if err := readJSON(filepath.Join(r.Dir, a.Name+sbomTail), &d); err != nil {
		return err
	}
	created, err := time.Parse(time.RFC3339, d.CreationInfo.Created)
	if err != nil {
		return fmt.Errorf("the SBOM has no date: %w", err)
	}
	want, err := json.Marshal(spdx.Describe(spdx.Subject{Name: a.Name, SHA256: a.SHA256, Version: r.Version,
		Created: created}, program))
	if err != nil {
		return err
	}
	if got, err := json.Marshal(d); err != nil || !bytes.Equal(got, want) {
		return wrong(err, "the SBOM does not say what the program says")
	}
	return nil
}

// SBOM writes the document of an archive.
func SBOM(archive, version string, created time.Time) ([]byte, error) {
	dir, err := os.MkdirTemp("", "sbom")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := krew.Unpack(archive, dir); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", archive, err)
	}
	name := "kubectl-dbop"
	if strings.HasSuffix(archive, ".zip") {
		name += ".exe"
	}
	info, err := buildinfo.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("read how the program of %s was built: %w", archive, err)
	}
	sum, err := krew.Sum(archive)
	if err != nil {
		return nil, err
	}
	return spdx.Describe(spdx.Subject{Name: filepath.Base(archive), SHA256: sum, Version: version, Created: created},
		info).JSON()
}
