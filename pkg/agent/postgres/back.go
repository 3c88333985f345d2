//go:build linux

package postgres

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// CanFollow implements api.Returner.
func (*Server) CanFollow(context.Context, protocol.Source) error {
	return api.NoBack{Why: "it is not built yet"}
}

// EndBack implements api.Returner.
func (*Server) EndBack(context.Context) error { return nil }
