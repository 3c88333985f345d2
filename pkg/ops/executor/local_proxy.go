package executor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// LocalProxy is a way into a member for a program of this machine.
type LocalProxy struct {
	at   engine.ClientEndpoint
	door *dial.LocalProxy
	live *Executor
}

// At is what the program is told.
func (d *LocalProxy) At() engine.ClientEndpoint { return d.at }

// Err is why the member could last not be reached.
func (d *LocalProxy) Err() error { return d.door.Err() }

// Close ends it, and removes its files.
func (d *LocalProxy) Close() error { return errors.Join(d.door.Close(), d.live.Close()) }

// OpenLocalProxy opens a way into one member for a program of this machine. Without a user it is the administrator
// there: by certificate where there is one, else by password. A user logs in by password, with the certificate of
// applications where clients show one.
func OpenLocalProxy(ctx context.Context, config Config, c *v1alpha1.DatabaseCluster, member, user string) (*LocalProxy,
	error) {
	l := New(config)
	port, err := clientPort(l.Engine, c)
	if err != nil {
		return nil, err
	}
	secure, err := l.shown(ctx, c, user)
	if err != nil {
		return nil, fmt.Errorf("read the client certificate of %s: %w", c.Name, err)
	}
	access := l.access(c, secure)
	out := &LocalProxy{live: l}
	switch {
	case user != "":
		has, err := password.Get(ctx, l.Client, c.Namespace, v1alpha1.PasswordSecret(c.Name, user))
		if err != nil {
			return nil, fmt.Errorf("read the password of user %s of %s: %w", user, c.Name, err)
		}
		out.at.Credentials = &engine.Credentials{User: has.Current.User, Password: has.Current.Password}
	case secure == nil:
		logins, err := access.Credentials(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the administrator's password of %s: %w", c.Name, err)
		}
		out.at.Credentials = &logins[0]
	}
	if secure != nil {
		secure.ServerName = v1alpha1.MemberHost(c.Name, c.Namespace, member)
	}
	out.door, err = dial.OpenLocalProxy(secure, func(ctx context.Context) (net.Conn, error) {
		return access.Dial(ctx, v1alpha1.PodName(member), port)
	})
	if err != nil {
		return nil, err
	}
	out.at.Address = out.door.Address
	if dir := out.door.Directory; dir != "" {
		out.at.CAFile, out.at.CertFile, out.at.KeyFile = filepath.Join(dir, "ca.crt"), filepath.Join(dir, "tls.crt"),
			filepath.Join(dir, "tls.key")
	}
	return out, nil
}

// shown is what the administrator, or a user, shows in a handshake; nil in plain text.
func (l *Executor) shown(ctx context.Context, c *v1alpha1.DatabaseCluster, user string) (*tls.Config, error) {
	if user != "" {
		return pki.ApplicationTLS(ctx, l.Client, c)
	}
	secure, _, err := pki.ClientTLS(ctx, l.Client, c)
	return secure, err
}

// EndpointByHand is what a person builds with kubectl and the cluster's secrets instead, for a user who logs in or,
// with none, the administrator: files by the names that they have there, the password by a variable.
func EndpointByHand(e engine.Engine, c *v1alpha1.DatabaseCluster, user string) (engine.ClientEndpoint, error) {
	port, err := clientPort(e, c)
	if err != nil {
		return engine.ClientEndpoint{}, err
	}
	out := engine.ClientEndpoint{Address: fmt.Sprintf("localhost:%d", port)}
	if c.Spec.TLS.Disabled || user != "" {
		out.Credentials = &engine.Credentials{User: cmp.Or(user, v1alpha1.AdminUser), Password: `"$PASSWORD"`}
	}
	if c.Spec.TLS.Disabled {
		return out, nil
	}
	out.CAFile, out.CertFile, out.KeyFile = "ca.crt", "tls.crt", "tls.key"
	return out, nil
}

// clientPort is where members take clients.
func clientPort(e engine.Engine, c *v1alpha1.DatabaseCluster) (int, error) {
	for _, p := range e.Ports(c) {
		if p.Name == "client" {
			return int(p.Port), nil
		}
	}
	return 0, &ops.Error{Kind: ops.Refused, Check: "connect", Message: "members of " + e.Name() +
		" have no port for clients"}
}
