// Package debian makes directory trees out of Debian's packages, beside the machine's own: nothing is installed, and
// apt's configuration of the machine is left as it is.
package debian

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
)

// keyring signs every release; the package debian-archive-keyring brings it.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// Suites that this package knows, as a line of sources.list has them.
const (
	Bookworm         = "http://deb.debian.org/debian bookworm main"
	BookwormSecurity = "http://deb.debian.org/debian-security bookworm-security main"
	Trixie           = "http://deb.debian.org/debian trixie main"
	TrixieSecurity   = "http://deb.debian.org/debian-security trixie-security main"
	Forky            = "http://deb.debian.org/debian forky main"
)

// Request is what to fetch.
type Request struct {
	// Suites are where the packages come from.
	Suites []string
	// Packages are wanted, with all that they depend on.
	Packages []string
	// Without are packages that count as installed, so that neither they nor what they depend on is fetched.
	Without []string
}

// Fetch downloads packages into dir, which holds all that apt keeps, and returns their files. It may be repeated after
// a failure: what is there already is not downloaded again.
func (r Request) Fetch(ctx context.Context, dir string) ([]string, error) {
	for _, sub := range []string{"lists/partial", "cache/archives/partial", "etc"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("make a directory for apt: %w", err)
		}
	}
	for name, content := range map[string]string{"etc/sources.list": r.sources(), "status": r.status()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return nil, fmt.Errorf("write a file for apt: %w", err)
		}
	}
	if err := apt(ctx, dir, "update"); err != nil {
		return nil, err
	}
	install := []string{"install", "--yes", "--download-only", "--no-install-recommends"}
	if err := apt(ctx, dir, append(install, r.Packages...)...); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "cache", "archives", "*.deb"))
	if err != nil {
		return nil, fmt.Errorf("list what apt downloaded: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("apt-get says that %v are downloaded, but %s has no packages", r.Packages, dir)
	}
	return files, nil
}

// sources is the content of sources.list.
func (r Request) sources() string {
	var lines strings.Builder
	for _, suite := range r.Suites {
		fmt.Fprintf(&lines, "deb [signed-by=%s] %s\n", keyring, suite)
	}
	return lines.String()
}

// status is the database of installed packages. The version is above any that a dependency asks for.
func (r Request) status() string {
	var lines strings.Builder
	for _, name := range slices.Sorted(slices.Values(r.Without)) {
		fmt.Fprintf(&lines, "Package: %s\nStatus: install ok installed\nArchitecture: amd64\nMulti-Arch: foreign\n"+
			"Version: 999:0\nMaintainer: nobody\nDescription: left out\n\n", name)
	}
	return lines.String()
}

// apt runs apt-get on the state of dir. The machine's apt.conf counts: it may name a proxy.
func apt(ctx context.Context, dir string, args ...string) error {
	options := []string{"-qq"}
	for _, option := range []string{
		"Dir::State=" + dir, "Dir::State::status=" + filepath.Join(dir, "status"),
		"Dir::Cache=" + filepath.Join(dir, "cache"), "Dir::Cache::archives=archives",
		"Dir::Etc::sourcelist=" + filepath.Join(dir, "etc", "sources.list"), "Dir::Etc::sourceparts=-",
		"Dir::Etc::preferences=-", "Dir::Etc::preferencesparts=-",
		"Acquire::Languages=none", "Acquire::Retries=3", "Acquire::http::Timeout=20", "APT::Sandbox::User=root",
	} {
		options = append(options, "-o", option)
	}
	command := exec.CommandContext(ctx, "apt-get", append(options, args...)...)
	command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		return fmt.Errorf("apt-get %v: %w\n%s", args, err, process.LastLines(output.String(), 10))
	}
	return nil
}
