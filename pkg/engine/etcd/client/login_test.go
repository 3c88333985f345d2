package client

import (
	"context"
	"net"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// ownToken is a member that answers logins with a token of its own.
type ownToken struct {
	pb.UnimplementedAuthServer
	token string
}

func (o ownToken) Authenticate(context.Context, *pb.AuthenticateRequest) (*pb.AuthenticateResponse, error) {
	return &pb.AuthenticateResponse{Token: o.token}, nil
}

// TestTokenOfAnotherMember asks a member that has not applied, or has
// forgotten, the login that another member answered.
func TestTokenOfAnotherMember(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// behind is how many requests come too early for the other's token; -1: it never holds here.
		behind   int
		token    string
		requests int
	}{
		"applied already": {0, "other", 2},
		"a moment behind": {3, "other", 5},
		"forgotten":       {-1, "own", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &login{credentials: func(context.Context) ([]engine.Credentials, error) {
				return []engine.Credentials{{User: "root", Password: "right"}}, nil
			}}
			requests := 0
			invoke := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				requests++
				md, _ := metadata.FromOutgoingContext(ctx)
				token := ""
				if sent := md.Get(rpctypes.TokenFieldNameGRPC); len(sent) > 0 {
					token = sent[0]
				}
				switch {
				case token == "":
					l.mu.Lock()
					l.token = "other" // Another connection of the session was faster.
					l.mu.Unlock()
					return rpctypes.ErrGRPCUserEmpty
				case token == "other" && (c.behind < 0 || requests < c.behind+2):
					return rpctypes.ErrGRPCInvalidAuthToken
				}
				return nil
			}
			if err := l.unary(t.Context(), "/etcdserverpb.Maintenance/Status", &pb.StatusRequest{}, &pb.StatusResponse{},
				serveLogins(t, "own"), invoke); err != nil {
				t.Fatal(err)
			}
			if l.current() != c.token {
				t.Errorf("token of %q, want %q", l.current(), c.token)
			}
			if c.requests > 0 && requests != c.requests {
				t.Errorf("%d requests, want %d", requests, c.requests)
			}
		})
	}
}

func serveLogins(t *testing.T, token string) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterAuthServer(server, ownToken{token: token})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	cc, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}
