package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// login is the token of a session, shared by its connections: it holds at
// every member, and a learner can't issue one. A certificate that names a user
// needs none, so it is only sought when etcd asks for it: no user was named, the
// token ran out or its member restarted, or the certificate's user may not.
type login struct {
	credentials func(context.Context) ([]engine.Credentials, error)

	mu    sync.Mutex
	token string
}

func (l *login) current() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token
}

// wanted reports whether logging in, again if a token was sent, may mend an error.
func (l *login) wanted(err error, sent string) bool {
	if err == nil || l == nil || l.credentials == nil {
		return false
	}
	switch err := rpctypes.Error(err); {
	case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrInvalidAuthToken),
		errors.Is(err, rpctypes.ErrAuthOldRevision):
		return true
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return sent == ""
	}
	return false
}

// renew asks a member for a token in place of the one that failed. If another
// request was faster its token serves.
func (l *login) renew(ctx context.Context, cc grpc.ClientConnInterface, failed string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token != failed {
		return l.token, nil
	}
	ctx, cancel := shorter(ctx)
	defer cancel()
	candidates, err := l.credentials(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", LoginDemanded, err)
	}
	failure := errors.New("none is known")
	for _, c := range candidates {
		token, err := authenticate(ctx, cc, c)
		if err == nil {
			l.token = token
			return token, nil
		}
		failure = fmt.Errorf("user %s: %w", c.User, err)
		if !errors.Is(err, rpctypes.ErrAuthFailed) {
			break
		}
	}
	// Unwrapped: the client would take a status inside for its own deadline,
	// and drop the words around it.
	return "", fmt.Errorf("%s: %s", LoginDemanded, plain(failure))
}

// shorter leaves a third of the time to say why a login, which takes a
// majority, did not come.
func shorter(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)*2/3)
}

// LoginDemanded begins what is said when no login succeeds. The client that
// the error passes through keeps its text and nothing else.
const LoginDemanded = "etcd demands a password"

// barred reports whether a request failed only because nobody could log in: the
// member is there.
func barred(err error) bool {
	return err != nil && (errors.Is(rpctypes.Error(err), rpctypes.ErrUserEmpty) ||
		strings.Contains(err.Error(), LoginDemanded))
}

func authenticate(ctx context.Context, cc grpc.ClientConnInterface, c engine.Credentials) (string, error) {
	answer, err := pb.NewAuthClient(cc).Authenticate(ctx, &pb.AuthenticateRequest{Name: c.User, Password: c.Password})
	if err != nil {
		return "", rpctypes.Error(err)
	}
	return answer.Token, nil
}

// unary is once, with the session's token.
func (l *login) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	if _, login := req.(*pb.AuthenticateRequest); login || anonymous(ctx) {
		return once(ctx, method, req, reply, cc, invoke, opts...)
	}
	sent := l.current()
	err := once(withToken(ctx, sent), method, req, reply, cc, invoke, opts...)
	for tries := 0; l.wanted(err, sent) && tries < logins; tries++ {
		token, failed := l.renew(ctx, cc, sent)
		if failed != nil {
			return failed
		}
		sent = token
		err = behind(ctx, func() error { return once(withToken(ctx, token), method, req, reply, cc, invoke, opts...) })
	}
	return err
}

const (
	// logins is how often a request seeks a token: that of another member may
	// not hold here any more, and be replaced by one that this member issued.
	logins = 2
	// applyTimeout is for a member to apply a login that another one answered.
	applyTimeout = 300 * time.Millisecond
	applyPause   = 20 * time.Millisecond
)

// behind repeats a request while its member doesn't know the token: a login is
// an entry of the log, answered where it was applied, and another member may be
// a moment behind.
func behind(ctx context.Context, request func() error) error {
	deadline, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	for {
		err := request()
		if err == nil || !errors.Is(rpctypes.Error(err), rpctypes.ErrInvalidAuthToken) {
			return err
		}
		select {
		case <-deadline.Done():
			return err
		case <-time.After(applyPause):
		}
	}
}

// stream is onceStream, with the session's token. Whether the token holds
// shows with the first message.
func (l *login) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return onceStream(withToken(ctx, l.current()), desc, cc, method, streamer, opts...)
}

func withToken(ctx context.Context, token string) context.Context {
	if token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, token)
}

// gatewayHeader marks requests that came through etcd's own HTTP gateway: the
// user that their certificate names doesn't count.
const gatewayHeader = "grpcgateway-accept"

// asNobody makes requests that name no user, neither by token nor by certificate.
func asNobody(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, gatewayHeader, "application/json")
}

func anonymous(ctx context.Context) bool {
	md, _ := metadata.FromOutgoingContext(ctx)
	return slices.Contains(md.Get(gatewayHeader), "application/json")
}
