package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

// connectTimeout bounds one attempt to reach a member.
const connectTimeout = 3 * time.Second

const (
	// window is how much a member sends ahead of what was read, of a snapshot above all.
	window = 2 * flags.Mebibyte
	// readBuffer is how much is read at once.
	readBuffer = 128 << 10
)

// Connection speaks to exactly one member, over gRPC and over HTTP on the
// same port. It is made without dialing.
type Connection struct {
	Client *clientv3.Client
	http   *http.Client
	base   string
	// named is true if a certificate may name the user of each request.
	named bool
	// secure is the configuration of a handshake, nil in plain text; showed is
	// what the last one that succeeded showed.
	secure *tls.Config
	dial   func(context.Context) (net.Conn, error)
	showed atomic.Pointer[engine.Presented]

	// users and retired belong to the session: a connection that failed is
	// closed when its last user is done.
	users   int
	retired bool
}

func newConnection(access engine.Access, at addresses.Addresses, member string, login *login) (*Connection, error) {
	dial := func(ctx context.Context) (net.Conn, error) {
		return access.Dial(ctx, v1alpha1.PodName(member), addresses.ClientPort)
	}
	c := &Connection{dial: dial}
	var secure *tls.Config
	protocol := "http"
	if access.TLS != nil {
		protocol = "https"
		secure = access.TLS.Clone()
		secure.ServerName = at.Host(member)
		secure.VerifyConnection = func(state tls.ConnectionState) error {
			showed := engine.PresentedBy(state.PeerCertificates[0])
			c.showed.Store(&showed)
			return nil
		}
	}
	base := fmt.Sprintf("%s://%s:%d", protocol, at.Host(member), addresses.ClientPort)
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{base},
		TLS:       secure,
		Logger:    zap.NewNop(),
		// etcd refuses clients that ping more often than every 5 s, or
		// without a request open.
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: connectTimeout,
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }),
			grpc.WithNoProxy(),
			grpc.WithMaxHeaderListSize(mostHeader),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newCounting())),
			grpc.WithInitialWindowSize(window),
			grpc.WithInitialConnWindowSize(window),
			grpc.WithReadBufferSize(readBuffer),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
					MaxDelay: time.Second},
				MinConnectTimeout: connectTimeout,
			}),
			grpc.WithUnaryInterceptor(login.unary),
			grpc.WithStreamInterceptor(login.stream),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make a client for member %s: %w", member, err)
	}
	transport := &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		TLSClientConfig:     secure.Clone(),
		TLSHandshakeTimeout: connectTimeout,
		IdleConnTimeout:     time.Minute,
		MaxIdleConns:        1,

		MaxResponseHeaderBytes: mostHeader,
	}
	c.Client, c.http, c.base, c.secure = client, &http.Client{Transport: transport}, base, secure
	c.named = !access.External && secure != nil && (len(secure.Certificates) > 0 || secure.GetClientCertificate != nil)
	return c, nil
}

// maintenance is the client's, on the connection that is open already: the
// client's own opens another one for each request.
func (c *Connection) maintenance() clientv3.Maintenance {
	return clientv3.NewMaintenanceFromMaintenanceClient(pb.NewMaintenanceClient(c.Client.ActiveConnection()), c.Client)
}

func (c *Connection) close() error {
	c.http.CloseIdleConnections()
	return c.Client.Close()
}
