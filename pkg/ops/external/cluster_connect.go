package external

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// trialWithin bounds the handshake that tells TLS from plain text.
const trialWithin = 5 * time.Second

func (o *Cluster) guess(format string, args ...any) {
	o.guesses = append(o.guesses, fmt.Sprintf(format, args...))
}

// connect makes the read-only session. A session dials members of ours; each
// is led to where the external cluster's member really is.
func (o *Cluster) connect(ctx context.Context) error {
	o.secure = o.servesTLS(ctx)
	access := engine.Access{External: true}
	if o.secure {
		trust, err := o.trust()
		if err != nil {
			return err
		}
		if access.TLS, err = external.TLS(ctx, o.Client, o.Namespace, trust, o.hosts()); err != nil {
			return o.withHint(err, "name the secrets with --cert-secret and --ca-secret")
		}
	}
	usual := v1alpha1.AdminUser
	if o.outside != nil {
		usual = o.outside.ExternalUser()
		if o.UserSecret == "" && o.found.Cluster != "" {
			o.UserSecret = v1alpha1.PasswordSecret(o.found.Cluster, v1alpha1.AdminUser)
			o.guess("the cluster is one of this tool's: secret %s has its administrator's password", o.UserSecret)
		}
	}
	if o.UserSecret != "" {
		// Read once now, so that a wrong name is told as such.
		if _, err := external.User(ctx, o.Client, o.Namespace, o.UserSecret, usual); err != nil {
			return o.withHint(err, "name a secret with the keys username and password")
		}
		access.Credentials = func(ctx context.Context) ([]engine.Credentials, error) {
			c, err := external.User(ctx, o.Client, o.Namespace, o.UserSecret, usual)
			return []engine.Credentials{c}, err
		}
	}
	byPod := map[string]outsideMember{}
	for _, m := range o.members {
		byPod[v1alpha1.PodName(m.name)] = m
	}
	access.Cluster = o.standIn()
	access.Dial = func(ctx context.Context, pod string, _ int) (net.Conn, error) {
		m, ok := byPod[pod]
		if !ok {
			return nil, fmt.Errorf("dial %s: it is none of the members that were found", pod)
		}
		return o.dial(ctx, m)
	}
	session, err := o.Engine.Connect(access)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", o.Title(), err)
	}
	o.session = engine.ReadOnly(session)
	return nil
}

func (o *Cluster) withHint(err error, hint string) error {
	if _, ok := errors.AsType[*kube.ForbiddenError](err); ok {
		return err // it knows its own
	}
	return &ops.Error{Kind: ops.Failed, Check: "credentials", Message: "the credentials of " + o.Title() +
		" can't be used", Hint: hint, Err: err}
}

// servesTLS believes a URL, then flags that say yes. Flags that say nothing
// may be in a file, so a handshake is tried.
func (o *Cluster) servesTLS(ctx context.Context) bool {
	if i := slices.IndexFunc(o.members, func(m outsideMember) bool { return m.url != nil }); i >= 0 {
		return o.members[i].url.Scheme == "https"
	}
	for _, m := range o.members {
		if m.trace.TLS {
			o.guess("clients are served with TLS: the flags of container %s say so", m.trace.Container)
			return true
		}
	}
	for _, m := range o.running() {
		secure, err := o.tryTLS(ctx, m)
		if err != nil {
			continue
		}
		if secure {
			o.guess("clients are served with TLS: port %d of pod %s answered a handshake", m.port, m.name)
		} else {
			o.guess("clients are served in plain text: port %d of pod %s answered no handshake", m.port, m.name)
		}
		return secure
	}
	return false
}

// tryTLS says what a port speaks; an error if it does not answer at all.
func (o *Cluster) tryTLS(ctx context.Context, m outsideMember) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, trialWithin)
	defer cancel()
	conn, err := o.dial(ctx, m)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	if o.outside != nil {
		return o.outside.ProbeTLS(ctx, conn)
	}
	// Nothing is sent after the handshake, so there is nothing to protect.
	err = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) // #nosec G402 -- see above
	if err == nil {
		return true, nil
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain || errors.Is(err, io.EOF) {
		return false, nil
	}
	if _, refused := errors.AsType[tls.AlertError](err); refused {
		return true, nil
	}
	return false, err
}

// trust is what was named, else what this tool made itself, else what the
// pods' own flags and volumes show.
func (o *Cluster) trust() (external.Keys, error) {
	if named := o.CertSecret; named != "" {
		at := external.SecretKey{Secret: named}
		return external.Keys{Certificate: at, Key: at,
			Authority: external.SecretKey{Secret: cmp.Or(o.CASecret, named)}}, nil
	}
	if c := o.found.Cluster; c != "" {
		at := external.SecretKey{Secret: v1alpha1.AdminSecret(c)}
		o.guess("the cluster is one of this tool's: secret %s is its administrator's", at.Secret)
		return external.Keys{Certificate: at, Key: at, Authority: at}, nil
	}
	t := external.Keys{Authority: external.SecretKey{Secret: o.CASecret}}
	for _, m := range o.members {
		certificate, ok := m.pod.SecretAt(m.trace.Container, m.trace.Certificate)
		key, both := m.pod.SecretAt(m.trace.Container, m.trace.Key)
		authority, signed := m.pod.SecretAt(m.trace.Container, m.trace.Authority)
		if t.Authority.Secret == "" && signed {
			t.Authority = authority
			o.guess("secret %s holds the authority: pod %s mounts it", authority.Secret, m.name)
		}
		if t.Authority.Secret == "" && ok {
			t.Authority = external.SecretKey{Secret: certificate.Secret}
			o.guess("secret %s may hold the authority: pod %s takes its own certificate from it", certificate.Secret, m.name)
		}
		if ok && both && m.trace.ClientCertificates {
			t.Certificate, t.Key = certificate, key
			o.guess("secret %s serves as client certificate: it is the own one of pod %s", certificate.Secret, m.name)
		}
		if ok || signed {
			break
		}
	}
	if t.Authority.Secret == "" {
		return t, &ops.Error{Kind: ops.Refused, Check: "credentials", Message: o.Title() +
			" serves clients with TLS, and none of its pods shows which secret holds the authority",
			Hint: "name it with --ca-secret, and a client certificate with --cert-secret"}
	}
	return t, nil
}

// hosts are all names under which the members are known.
func (o *Cluster) hosts() []string {
	var out []string
	for _, m := range o.members {
		if m.url != nil {
			out = append(out, m.url.Hostname())
		}
		out = append(out, m.pod.Hosts...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(h string) bool { return strings.TrimSpace(h) == "" })
}
