package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// defaultUser logs in where nobody is named.
const defaultUser = "postgres"

// connectTimeout bounds one attempt to connect, in seconds.
const connectTimeout = "5"

// Source is a server outside of the cluster.
type Source struct {
	protocol.Source
	// Secret is a directory with a password and certificates, or "".
	Secret string
	// Login, if it is set, is used instead of what the secret holds.
	Login *Login
}

// Login is what a cluster leaves at the one that it cut over from, which may follow it: how that logs in.
type Login struct {
	User, Password string
	// Authority is a file with the certificates of the authority that both clusters have, or "".
	Authority string
}

// Connect logs in to a database. Parameters are those of the session.
func (s Source) Connect(ctx context.Context, database string, parameters map[string]string) (*pgconn.PgConn, error) {
	config, err := s.config(database)
	if err == nil {
		maps.Copy(config.RuntimeParams, parameters)
		var conn *pgconn.PgConn
		if conn, err = pgconn.ConnectConfig(ctx, config); err == nil {
			return conn, nil
		}
	}
	return nil, fmt.Errorf("connect to the database %q of the source %s: %w", database, s.Address, err)
}

func (s Source) config(database string) (*pgconn.Config, error) {
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return nil, err
	}
	mode := "prefer"
	if s.TLS {
		mode = "disable" // it is set below, for this program checks the certificate
	}
	config, err := pgconn.ParseConfig(fmt.Sprintf("host=%s port=%s sslmode=%s connect_timeout=%s application_name=dbop "+
		"target_session_attrs=any", word(host), word(port), mode, connectTimeout))
	if err != nil {
		return nil, err
	}
	password, err := s.file("password")
	if err != nil {
		return nil, err
	}
	config.Database, config.User, config.Password = database, s.User, strings.TrimRight(string(password), "\r\n")
	if s.Login != nil {
		config.User, config.Password = s.Login.User, s.Login.Password
	}
	if config.User == "" {
		config.User = defaultUser
	}
	if s.TLS {
		config.TLSConfig, err = s.tls(host)
	}
	return config, err
}

// word quotes a value of a connection string.
func word(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(value) + "'"
}

func (s Source) tls(host string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	authority, err := s.authority()
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
	if own == nil || err != nil {
		return config, err
	}
	key, err := s.file("tls.key")
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(own, key)
	if err != nil {
		return nil, fmt.Errorf("tls.crt and tls.key in the secret of the source: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// authority is the authority that signed the certificate of the source; nil for those that the system knows.
func (s Source) authority() ([]byte, error) {
	if s.Login == nil || s.Login.Authority == "" {
		return s.file("ca.crt")
	}
	raw, err := os.ReadFile(s.Login.Authority)
	if err != nil {
		return nil, fmt.Errorf("read the authority of this cluster: %w", err)
	}
	return raw, nil
}

// file reads a key of the secret; nil is a key that is not there.
func (s Source) file(name string) ([]byte, error) {
	if s.Secret == "" || s.Login != nil {
		return nil, nil
	}
	raw, err := os.ReadFile(filepath.Join(s.Secret, name)) //nolint:gosec // both are ours
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s in the secret of the source: %w", name, err)
	}
	return raw, nil
}
