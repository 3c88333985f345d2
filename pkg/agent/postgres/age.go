//go:build linux

package postgres

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// age measures how old the data of a replica is, by the clock of its own machine: what the log tells are times of
// another one, and of its last transaction, which may be long ago on a primary at rest.
type age struct {
	// mark is where the log of the primary ended at a time. Who has applied it all has data of that time.
	mark datadir.LSN
	at   protocol.Instant
	// fresh is the last time of which it has all data, if that is known.
	fresh protocol.Instant
	known bool
	// receiver is the process that was seen last.
	receiver string
}

// of takes what the server says, and returns the age in whole seconds. It is 0 where all is applied that the primary is
// known to have. A receiver that began just now shows what the one before it was told: that counts for nothing yet.
func (g *age) of(a answer, now protocol.Instant) time.Duration {
	told := a.receiver != "" && a.receiver == g.receiver
	g.receiver = a.receiver
	if told {
		if g.mark == 0 {
			g.at = now
		}
		if g.mark == 0 || a.told < g.mark { // the next primary may have less
			g.mark = a.told
		}
		if a.end >= g.mark {
			g.fresh, g.known = g.at, true
			g.mark, g.at = a.told, now
		}
	}
	switch {
	case a.receiver != "" && a.end >= max(a.told, a.received):
		return 0
	case g.known:
		return now.Sub(g.fresh).Truncate(time.Second)
	}
	return a.past
}
