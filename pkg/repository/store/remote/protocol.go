// Package remote is a store behind a server of this tool: a claim that a pod has mounted, reached by port-forward.
package remote

import (
	"context"
	"errors"
	"net/http"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// What Store and Handler say to each other. Values are JSON, bodies of objects are bytes:
//
//	GET    /v1/store                                      -> store.Capabilities
//	GET    /v1/store/list?prefix=P&token=T                -> store.Page
//	POST   /v1/store/sweep?prefix=P&before=TIME           -> sweepReply
//	GET    /v1/store/facts/{key}                          -> store.Object
//	GET    /v1/store/objects/{key}?offset=N&length=N      -> bytes
//	PUT    /v1/store/objects/{key}?retain=TIME            bytes ->
//	DELETE /v1/store/objects/{key}
//	POST   /v1/store/uploads?key=K&retain=TIME            -> uploadReply
//	PUT    /v1/store/uploads/{upload}/{part}              bytes ->
//	POST   /v1/store/uploads/{upload}/commit?parts=N
//	DELETE /v1/store/uploads/{upload}
//
// Times are RFC 3339. Errors are a wire.Fault with a code of faults.
const root = "/v1/store"

// errRequest: the two sides do not understand each other; they may be of different versions.
var errRequest = errors.New("malformed request")

type uploadReply struct {
	Upload string `json:"upload"`
}

type sweepReply struct {
	Swept int `json:"swept"`
}

// faults are the errors that keep their type on the way.
func faults() wire.Table {
	return wire.Table{
		{Code: "not-found", Status: http.StatusNotFound, Err: store.ErrNotFound},
		{Code: "exists", Status: http.StatusConflict, Err: store.ErrExists},
		{Code: "denied", Status: http.StatusForbidden, Err: store.ErrDenied},
		{Code: "full", Status: http.StatusInsufficientStorage, Err: store.ErrFull},
		{Code: "retained", Status: http.StatusConflict, Err: store.ErrRetained},
		{Code: "bad-key", Status: http.StatusBadRequest, Err: store.ErrKey},
		{Code: "unsupported", Status: http.StatusNotImplemented, Err: store.ErrUnsupported},
		{Code: "bad-request", Status: http.StatusBadRequest, Err: errRequest},
		{Code: "canceled", Status: http.StatusServiceUnavailable, Err: context.Canceled},
	}
}
