package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// gatewayRefusal is how etcd's HTTP gateway refuses a client certificate
// that names a user, if and only if authentication is on (embed/serve.go).
const gatewayRefusal = "CommonName of client sending a request"

// askAuth asks a member whether clients must log in; "" where it can't be
// told. etcd's own request for it goes through the log of the whole cluster.
// These don't, work without quorum and at a learner, and leave no complaint in
// the member's log.
func askAuth(ctx context.Context, c *Connection) string {
	if c.named {
		return askGateway(ctx, c)
	}
	_, err := c.Client.Get(asNobody(ctx), "\x00", clientv3.WithSerializable(), clientv3.WithLimit(1),
		clientv3.WithFromKey(), clientv3.WithKeysOnly())
	switch {
	case err == nil:
		return engine.AuthOff
	case errors.Is(rpctypes.Error(err), rpctypes.ErrUserEmpty),
		errors.Is(rpctypes.Error(err), rpctypes.ErrPermissionDenied):
		return engine.AuthOn
	}
	return ""
}

func askGateway(ctx context.Context, c *Connection) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v3/kv/range", nil)
	if err != nil {
		return ""
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return ""
	}
	// What was read is all that counts.
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<12))
	switch {
	case err != nil, resp.StatusCode == http.StatusNotFound: // the gateway is disabled
		return ""
	case resp.StatusCode == http.StatusBadRequest && strings.Contains(string(said), gatewayRefusal):
		return engine.AuthOn
	}
	return engine.AuthOff
}
