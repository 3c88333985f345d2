package valkey

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// noBack says why a server of this kind does not go back after a cut over.
const noBack = "Valkey and Redis have no way back after a cut over: " +
	"a replica can't go on from the data of its former " +
	"self; cut over without it, and move in again to go back"

// CanFollow implements api.Returner.
func (*Server) CanFollow(context.Context, protocol.Source) error { return api.NoBack{Why: noBack} }

// EndBack implements api.Returner.
func (*Server) EndBack(context.Context) error { return nil }
