package agent

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	contract "github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// errReadOnly is the answer of a server that is no primary.
var errReadOnly = errors.New("the server takes no writes")

// engine is what the tests know of a database.
type engine interface {
	// configure adds the server to the configuration of a member.
	configure(m *member, configuration map[string]any)
	// values are settings of the server.
	values() map[string]string
	// first is the first process of the server, or 0.
	first(m *member) int
	// prepare makes what clients need, at the primary.
	prepare(p *member) error
	// dial connects as a client does.
	dial(ctx context.Context, m *member) (session, error)
	// rows returns the rows of a member once it holds all that the primary holds, or an error.
	rows(p, m *member) (map[int]bool, error)
	// answersLate says that a server which goes on after a freeze may answer what clients sent meanwhile, with this
	// durability and where clients don't go through the agent.
	answersLate(protocol.Durability) bool
	// timelines returns a function that says which timeline a history is.
	timelines(s *site) func(history string) (uint64, bool)
	// tool is the engine of the tool.
	tool() tool
}

// tool is what tests ask of an engine of the tool.
type tool interface {
	contract.Engine
	contract.Unpacker
	contract.LogArchiver
}

// session is the connection of a client.
type session interface {
	// insert adds a row, and returns the history and the place that the server says, once it is acknowledged as the
	// durability asks for.
	insert(ctx context.Context, id int) (history string, place uint64, err error)
	close()
}
