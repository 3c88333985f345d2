//go:build linux

// Package movein has a primary copy and follow a server outside of its cluster, up to the cut over, and back again.
package movein

import (
	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
)

// Server is the one that follows, and what it needs of its agent.
type Server struct {
	local.Server
	// Directory is its volume.
	Directory string
	// Secret is a directory with the password and the certificates for the source, or "".
	Secret string
	// Authority is the file with the authority of clients' TLS, by which a source that is kept is trusted: it is the same
	// there.
	Authority string
	// Door leads to the source.
	Door *source.Door
	// Report takes what a person should know.
	Report func(string)
}

// free is the room on the volume.
func (s Server) free() int64 {
	var of unix.Statfs_t
	if err := unix.Statfs(s.Directory, &of); err != nil {
		return 0
	}
	return int64(of.Bavail) * of.Bsize //nolint:gosec // no volume is that large
}
