//go:build linux

package valkey

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/stream"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

// Users of the agent. Their passwords are made at each start of the server, and are in no file but where it says so.
const (
	// agentUser may do everything.
	agentUser = "dbop"
	// personUser is for who may enter the container: its password is in a file beside the socket.
	personUser = "dbop-person"
	// streamUser may only replicate.
	streamUser = "dbop-replication"
)

// Config is what the driver needs of the agent.
type Config struct {
	ID protocol.MemberID
	// Directory is the volume. Sockets is a short path that only this user may enter.
	Directory, Sockets string
	// Program is valkey-server or redis-server.
	Program string
	// Listen are the addresses for clients, in the form of the setting bind.
	Listen string
	Port   int
	// UsersFile holds ACL rules with hashes of passwords, "" for none.
	UsersFile string
	// Certificate, Key and Authority are files for clients' TLS; "" has clients connect in plain text.
	Certificate, Key, Authority string
	// SourceSecret is a directory with what the source of the cluster asks for: password, ca.crt, tls.crt and tls.key,
	// each only if it is needed.
	SourceSecret string
	// Dial connects to the agent of another member for its data.
	Dial stream.Dial
	// Serves says whether the server is a primary of a generation, with a lease, and a member may have its data.
	Serves func(protocol.Generation, protocol.MemberID) bool
	// Told is what another member told last of where its data ends.
	Told func(protocol.MemberID) protocol.Position
	// Others returns the processes in the container besides the agent and those above it.
	Others func() []int
	// Now reads CLOCK_BOOTTIME.
	Now func() protocol.Instant
	// Report takes what a person should know, Log what the server prints.
	Report func(string)
	Log    io.Writer
}

// paths of a volume.
func (c Config) data() string   { return filepath.Join(c.Directory, "data") }
func (c Config) aside() string  { return filepath.Join(c.Directory, "data.new") }
func (c Config) old() string    { return filepath.Join(c.Directory, "data.old") }
func (c Config) conf() string   { return filepath.Join(c.Directory, "conf") }
func (c Config) socket() string { return filepath.Join(c.Sockets, "server.sock") }

// db is the working directory of the server within a copy of the data.
func db(data string) string { return filepath.Join(data, datadir.Database) }

// product is which server a program is.
type product struct {
	valkey  bool
	major   int
	release string
}

// product asks the program for its version.
func (c Config) product() (product, error) {
	out, err := exec.Command(c.Program, "--version").Output() //nolint:gosec // the path is ours
	if err != nil {
		return product{}, fmt.Errorf("ask %s for its version: %w", c.Program, err)
	}
	return parseProduct(string(out))
}

// lowestMajor is the first version whose append-only files have a manifest.
const lowestMajor = 7

// parseProduct reads "Redis server v=7.0.15 sha=..." and "Valkey server v=8.1.1 sha=...".
func parseProduct(out string) (product, error) {
	found := regexp.MustCompile(`^(Redis|Valkey) server v=((\d+)\.[0-9.]+)`).FindStringSubmatch(out)
	if found == nil {
		return product{}, fmt.Errorf("read the version of the server in %q: it is neither Valkey nor Redis", out)
	}
	major, err := strconv.Atoi(found[3])
	if err != nil || major < lowestMajor {
		return product{}, fmt.Errorf("read the version of the server in %q: it must be at least %d", out, lowestMajor)
	}
	return product{valkey: found[1] == "Valkey", major: major, release: found[2]}, nil
}

// prepare makes the directories that must exist before a server.
func (c Config) prepare() error {
	if length := len(c.socket()); length > 100 {
		return fmt.Errorf("use the directory %s for sockets: its path is too long by %d characters", c.Sockets, length-100)
	}
	for _, d := range []string{c.Directory, c.Sockets, c.conf()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("prepare the volume: %w", err)
		}
	}
	return os.Chmod(c.Sockets, 0o700) //nolint:gosec // a directory
}
