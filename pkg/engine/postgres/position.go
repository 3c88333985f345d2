package postgres

import (
	"fmt"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// Readings implements engine.Rules: the end of the log as PostgreSQL writes it.
func (*Engine) Readings(p engine.Position) []engine.Reading {
	timeline, offset, ok := agreed.Split(p)
	if !ok {
		return nil
	}
	return []engine.Reading{
		{Name: "timeline", Value: strconv.FormatInt(timeline, 10)},
		{Name: "lsn", Value: fmt.Sprintf("%X/%X", offset>>32, offset&0xffffffff)},
	}
}
