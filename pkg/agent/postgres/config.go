//go:build linux

package postgres

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/stream"
)

// Config is what the driver needs of the agent.
type Config struct {
	ID protocol.MemberID
	// Server is where the server is.
	local.Server
	// Directory is the volume.
	Directory string
	// Listen are the addresses for clients, as listen_addresses takes them.
	Listen string
	// Certificate, Key and Authority are files for clients' TLS; "" has clients connect in plain text.
	Certificate, Key, Authority string
	// SourceSecret is a directory with the password and the certificates for the source of the cluster, or "".
	SourceSecret string
	// Dial connects to the agent of another member for its log.
	Dial stream.Dial
	// Serves says whether the server is a primary of a generation, with a lease, and a member may have its log.
	Serves func(protocol.Generation, protocol.MemberID) bool
	// Others returns the processes in the container besides the agent and those above it.
	Others func() []int
	// Now reads CLOCK_BOOTTIME.
	Now func() protocol.Instant
	// Report takes what a person should know, Log what the server prints.
	Report func(string)
	Log    io.Writer
}

func (c Config) data() string   { return filepath.Join(c.Directory, "data") }
func (c Config) pgdata() string { return filepath.Join(c.data(), "pgdata") }
func (c Config) aside() string  { return filepath.Join(c.Directory, "data.new") }
func (c Config) conf() string   { return filepath.Join(c.Directory, "conf") }

// version asks the server's program for its release, such as "15.18".
func (c Config) version() (release string, major int, err error) {
	out, err := exec.Command(c.Program("postgres"), "--version").Output() //nolint:gosec // the path is ours
	if err != nil {
		return "", 0, fmt.Errorf("ask %s for its version: %w", c.Program("postgres"), err)
	}
	return parseVersion(string(out))
}

// parseVersion reads "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
func parseVersion(out string) (release string, major int, err error) {
	_, after, _ := strings.Cut(out, "(PostgreSQL) ")
	digits := strings.TrimLeft(after, "0123456789")
	major, err = strconv.Atoi(strings.TrimSuffix(after, digits))
	if err != nil || major < 13 {
		return "", 0, fmt.Errorf("read the version of PostgreSQL in %q: it must be at least 13", strings.TrimSpace(out))
	}
	return strings.Fields(after)[0], major, nil
}

// prepare makes the directories that must exist before a server.
func (c Config) prepare() error {
	if length := len(c.Socket(c.Port)); length > 100 {
		return fmt.Errorf("use the directory %s for sockets: its path is too long by %d characters", c.Sockets, length-100)
	}
	for _, d := range []string{c.Directory, c.Sockets, c.conf()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("prepare the volume: %w", err)
		}
	}
	if err := os.Chmod(c.Sockets, 0o700); err != nil { //nolint:gosec // a directory
		return fmt.Errorf("use the directory %s for sockets: name one that does not exist, inside of what is mounted: %w",
			c.Sockets, err)
	}
	// The kubelet gives the group of a volume rights that the server refuses.
	if err := os.Chmod(c.pgdata(), 0o700); err != nil && !os.IsNotExist(err) { //nolint:gosec // a directory
		return fmt.Errorf("prepare the volume: %w", err)
	}
	return nil
}
