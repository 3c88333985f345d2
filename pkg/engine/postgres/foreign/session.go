package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// askTime bounds the questions to one server.
const askTime = 5 * time.Second

// Session asks servers by SQL. It implements engine.Session; all that would change something is refused.
type Session struct{ access engine.Access }

var _ engine.Session = (*Session)(nil)

// Observe implements engine.Session. The list of members is what was asked: such servers keep none.
func (s *Session) Observe(ctx context.Context, members []string) engine.View {
	all := make([]engine.Member, len(members))
	var wait sync.WaitGroup
	for i, name := range members {
		wait.Go(func() { all[i] = s.ask(ctx, name) })
	}
	wait.Wait()
	return viewOf(all)
}

// viewOf makes a view of what servers said, each asked alone.
func viewOf(all []engine.Member) engine.View {
	v := engine.View{Members: all}
	for i := range all {
		m := &all[i]
		v.MemberList = append(v.MemberList, engine.Registered{ID: m.Name, Name: m.Name, Voter: true, Started: true})
		if m.ClusterID != "" && !slices.Contains(v.ClusterIDs, m.ClusterID) {
			v.ClusterIDs = append(v.ClusterIDs, m.ClusterID)
		}
		v.Quorum = v.Quorum || m.Role == engine.RolePrimary
	}
	slices.Sort(v.ClusterIDs)
	return v
}

// ask asks one server. Who has fewer rights is told less.
func (s *Session) ask(ctx context.Context, name string) engine.Member {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	m := engine.Member{Name: name, Role: engine.RoleUnknown}
	conn, err := s.connect(ctx, name)
	if err != nil {
		m.Problem = err.Error()
		if demandsLogin(err) {
			m.Auth = engine.AuthOn
		}
		return m
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // all was read
	if err := read(ctx, conn, &m); err != nil {
		m.Problem = err.Error()
		return m
	}
	m.Reachable, m.Serving, m.ID = true, true, name
	return m
}

// demandsLogin tells a server that wants a password, or another one.
func demandsLogin(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refused.Code == "28P01" || refused.Code == "28000")
}

// connect logs in to one server. Nothing of the environment of this process counts.
func (s *Session) connect(ctx context.Context, name string) (*pgconn.PgConn, error) {
	login := engine.Credentials{User: User}
	if s.access.Credentials != nil {
		all, err := s.access.Credentials(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the password: %w", err)
		}
		if len(all) > 0 {
			login = all[0]
		}
	}
	config, err := pgconn.ParseConfig("host=server port=" + strconv.Itoa(Port) + " sslmode=disable dbname=postgres")
	if err != nil {
		return nil, fmt.Errorf("connect to server %s: %w", name, err)
	}
	config.User, config.Password, config.Fallbacks = login.User, login.Password, nil
	config.RuntimeParams = map[string]string{"application_name": "kubectl-dbop", "default_transaction_read_only": "on",
		"statement_timeout": strconv.Itoa(int(askTime.Milliseconds()))}
	config.TLSConfig = s.access.TLS.Clone()
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return s.access.Dial(ctx, v1alpha1.PodName(name), Port)
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return nil, fmt.Errorf("log in as %s: %w", login.User, said) // without the address, which is made up
	}
	if err != nil {
		return nil, fmt.Errorf("log in as %s: %w", login.User, err)
	}
	return conn, nil
}

// Close implements engine.Session: no connection outlives its questions.
func (*Session) Close() error { return nil }

func refused(what string) error {
	return &engine.Refusal{Check: "outside", Reason: what + " a server of PostgreSQL that something else made is not done",
		Hint: "have a new cluster follow it until a cut over: kubectl dbop create NAME --engine postgres --from-primary " +
			"HOST:PORT"}
}

// Snapshot implements engine.Session: it is refused.
func (*Session) Snapshot(context.Context, string, io.Writer, func(int64)) error {
	return refused("to back up")
}

// Fingerprint implements engine.Session: it is refused.
func (*Session) Fingerprint(context.Context, string) (engine.Fingerprint, error) {
	return engine.Fingerprint{}, refused("to compare")
}

// Register implements engine.Session: it is refused.
func (*Session) Register(context.Context, string) error { return refused("to add to") }

// Promote implements engine.Session: it is refused.
func (*Session) Promote(context.Context, string) error { return refused("to promote") }

// Deregister implements engine.Session: it is refused.
func (*Session) Deregister(context.Context, string, string) error { return refused("to remove from") }

// HandOver implements engine.Session: it is refused.
func (*Session) HandOver(context.Context, string) error { return refused("to switch over") }
