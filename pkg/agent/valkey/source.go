//go:build linux

package valkey

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/session"
)

// source is the server outside of the group that the data comes from.
type source struct {
	// secret is a directory with a password and certificates.
	secret string
	// asked is a session for questions.
	asked session.Connection

	mu sync.Mutex
	to protocol.Source
	// failed is when a connection failed last, problem why, or what else keeps the data from coming.
	failed  time.Time
	problem string
	// refused says that the source was checked, and can't be followed as it is.
	refused bool
	// paused says that an agent before this one may have left the source paused.
	paused bool
	// users are those of the source that do not come along.
	users []string
}

// sourcePause is the time between two attempts to connect to a source that refused one.
const sourcePause = time.Second

// choose names the source.
func (s *source) choose(to protocol.Source) {
	s.mu.Lock()
	other := s.to != to
	if s.to = to; other {
		s.problem, s.refused, s.users = "", false, nil
	}
	s.mu.Unlock()
	if other {
		s.asked.Close()
	}
}

// say keeps what keeps the data from coming, nil for nothing.
func (s *source) say(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var unfit unfitError
	s.problem, s.refused = "", errors.As(err, &unfit)
	if err != nil {
		s.problem = err.Error()
	}
}

// stream connects for the server beside this agent, which replicates.
func (s *source) stream() (net.Conn, error) {
	s.mu.Lock()
	wait := time.Since(s.failed) < sourcePause
	s.mu.Unlock()
	if wait {
		return nil, errors.New("connect to the source: it refused a moment ago")
	}
	ctx, stop := context.WithTimeout(context.Background(), session.AskTime)
	defer stop()
	c, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.unpause(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, c.SetDeadline(time.Time{})
}

// unpause has the source take writes again if the agent of a primary before this one may have died while it refused
// them for a cut over. Nothing is cut over before the server replicates again, so no pause of this agent ends by it. A
// source that does not let its user do that was not paused by it either.
func (s *source) unpause(ctx context.Context, c *session.Session) error {
	s.mu.Lock()
	paused := s.paused
	s.mu.Unlock()
	if !paused {
		return nil
	}
	if _, err := c.Do(ctx, "CLIENT", "UNPAUSE"); err != nil && !isAnswered(err) {
		return fmt.Errorf("have the source take writes again: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = false
	return nil
}

// left notes that a primary before this one may have died during a cut over.
func (s *source) left() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = true
}

// enter opens a session, and logs in where there is a password.
func (s *source) enter(ctx context.Context) (*session.Session, error) {
	s.mu.Lock()
	to := s.to
	s.mu.Unlock()
	c, err := s.login(ctx, to)
	if err != nil {
		err = fmt.Errorf("connect to the source %s: %w", to.Address, err)
		s.mu.Lock()
		s.failed = time.Now()
		s.mu.Unlock()
	}
	s.say(err)
	return c, err
}

func (s *source) login(ctx context.Context, to protocol.Source) (*session.Session, error) {
	password, err := s.file("password")
	if err != nil {
		return nil, err
	}
	conn, err := s.connect(ctx, to)
	if err != nil {
		return nil, err
	}
	c := session.On(conn)
	login := []string{"PING"}
	switch given := strings.TrimRight(string(password), "\r\n"); {
	case to.User != "":
		login = []string{"AUTH", to.User, given}
	case given != "":
		login = []string{"AUTH", given}
	}
	if _, err := c.Do(ctx, login...); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

func (s *source) connect(ctx context.Context, to protocol.Source) (net.Conn, error) {
	if !to.TLS {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", to.Address)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	authority, err := s.file("ca.crt")
	if err != nil {
		return nil, err
	}
	if authority != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authority) {
			return nil, errors.New("ca.crt in the secret of the source holds no certificate")
		}
	}
	own, err := s.file("tls.crt")
	if err != nil {
		return nil, err
	}
	if own != nil {
		key, err := s.file("tls.key")
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(own, key)
		if err != nil {
			return nil, fmt.Errorf("tls.crt and tls.key in the secret of the source: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	d := tls.Dialer{Config: config}
	return d.DialContext(ctx, "tcp", to.Address)
}

// file reads a key of the secret; nil is a key that is not there.
func (s *source) file(name string) ([]byte, error) {
	if s.secret == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(filepath.Join(s.secret, name)) //nolint:gosec // both are ours
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s in the secret of the source: %w", name, err)
	}
	return raw, nil
}

// state asks the source for its replication.
func (s *source) state(ctx context.Context) (answer, error) {
	text, err := s.asked.Do(ctx, "INFO", "replication", "persistence")
	if err != nil {
		return answer{}, err
	}
	return parseInfo(text)
}
