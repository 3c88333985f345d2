// Package local reaches the server of a member as its own agent does: by the Unix socket, as the first superuser, and
// by PostgreSQL's own programs.
package local

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// User is the role as which agents connect. It is the first superuser, can't be dropped, and enters by the Unix socket
// alone.
const User = "dbop"

// Ports of the sockets, in the directory of the sockets, at which the agent takes what its server and its tools want of
// others.
const (
	// UpstreamPort leads to the log of the primary, ToolPort to the primary for tools.
	UpstreamPort = 1
	ToolPort     = 2
	// SourcePort leads to the server outside of the cluster that it follows.
	SourcePort = 3
)

// Server is where the server of this member is, and its programs.
type Server struct {
	// Bin holds the programs of PostgreSQL.
	Bin string
	// Sockets is a short path that only this user may enter.
	Sockets string
	Port    int
	// Major is its major version; 0 where that is not known.
	Major int
}

// Program is the path of a program of PostgreSQL.
func (s Server) Program(name string) string { return filepath.Join(s.Bin, name) }

// Socket is the path of the socket of a port.
func (s Server) Socket(port int) string {
	return filepath.Join(s.Sockets, ".s.PGSQL."+strconv.Itoa(port))
}

// Conninfo is how libpq reaches a port of the sockets. It holds no secret.
func (s Server) Conninfo(port int, more string) string {
	return fmt.Sprintf("host='%s' port=%d user=%s %s", s.Sockets, port, User, more)
}
