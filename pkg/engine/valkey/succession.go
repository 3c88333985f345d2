package valkey

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Successor = (*Engine)(nil)

// lastShared is the last series of Redis whose files Valkey reads: Valkey began as a copy of Redis 7.2.
// Redis 7.4 writes format 12, which Valkey refuses (https://valkey.io/topics/migration).
const lastShared = "7.2"

// CheckSuccession implements engine.Successor: Valkey loads backups of Redis up to 7.2, and Redis none of Valkey.
func (e *Engine) CheckSuccession(of, from, target string) error {
	if e.Name() != "valkey" || of != "redis" {
		return engine.NotLoaded(e, of)
	}
	if order, ok := e.CompareVersions(e.Series(from), lastShared); !ok || order > 0 {
		return &engine.Refusal{Check: "series",
			Reason: fmt.Sprintf("Valkey %s does not read data of Redis %s: their formats differ since Redis 7.4", target, from),
			Hint:   "restore it into a cluster of Redis, and copy its keys by a program of yours"}
	}
	return nil
}
