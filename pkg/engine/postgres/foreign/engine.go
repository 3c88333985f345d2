package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Engine is PostgreSQL without agents: nothing agrees on who is the primary.
type Engine struct{ engine.Engine }

// Capabilities implements engine.Engine.
func (Engine) Capabilities() engine.Capabilities {
	return engine.Capabilities{Login: true, Users: true, SQL: true, Source: true}
}

// Connect implements engine.Engine.
func (Engine) Connect(a engine.Access) (engine.Session, error) {
	if a.Cluster == nil || a.Dial == nil {
		return nil, errors.New("connect to servers of PostgreSQL: no cluster or no dialer given")
	}
	return &Session{access: a}, nil
}

// mostLag is how much of the log a replica may lack and count as healthy, as for members with agents.
const mostLag = 1 << 30

// Health implements engine.Rules.
func (e Engine) Health(v engine.View, name string) error {
	m := v.Member(name)
	switch {
	case !m.Reachable:
		return fmt.Errorf("server %s was not reached: %s", name, m.Problem)
	case m.Role == engine.RolePrimary:
		return nil
	case m.Leader == "":
		return fmt.Errorf("server %s is in recovery and receives no log", name)
	}
	leader, known := v.Leader()
	if !known || leader.Name == name {
		return nil // the primary is none of the servers that were found
	}
	lag, ok := e.Lag(engine.Gap{Leader: leader.Position, Member: m.Position})
	switch {
	case !ok:
		return fmt.Errorf("server %s is on another timeline or of another cluster than the primary", name)
	case lag.Amount > mostLag:
		return fmt.Errorf("server %s is %s behind the primary", name, lag)
	}
	return nil
}

// sslRequest asks a server whether it speaks TLS (section 54.2.11 of the manual).
func sslRequest() []byte { return []byte{0, 0, 0, 8, 4, 210, 22, 47} }

// ProbeTLS implements engine.ExternalEngine.
func ProbeTLS(ctx context.Context, conn net.Conn) (bool, error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return false, fmt.Errorf("ask for TLS: %w", err)
		}
	}
	if _, err := conn.Write(sslRequest()); err != nil {
		return false, fmt.Errorf("ask for TLS: %w", err)
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return false, fmt.Errorf("ask for TLS: %w", err)
	}
	switch answer[0] {
	case 'S':
		return true, nil
	case 'N':
		return false, nil
	}
	return false, fmt.Errorf("ask for TLS: the answer begins with %q, as of no server of PostgreSQL", answer[0])
}
