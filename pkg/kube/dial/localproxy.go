package dial

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
)

// proxyHandshake bounds the beginning of one connection.
const proxyHandshake = 10 * time.Second

// LocalProxy is a port on this machine's loopback that leads into a pod, for a
// program that is no part of this one. Where the pod is served with TLS so is
// the port, by an authority and keys that live as long as the doorway: only
// who was given them gets in, and what is left of them after a crash opens
// nothing. The certificate that logs in at the far end never leaves memory.
type LocalProxy struct {
	// Address is host and port. Directory holds ca.crt, tls.crt and tls.key for
	// the program; "" in plain text.
	Address, Directory string

	listener net.Listener
	secure   *tls.Config
	dial     func(context.Context) (net.Conn, error)
	cancel   context.CancelFunc
	open     sync.WaitGroup

	mu  sync.Mutex
	err error
}

// OpenLocalProxy listens at once. dial reaches the port in the pod; secure is the
// configuration of the handshake there, nil for plain text.
func OpenLocalProxy(secure *tls.Config, dial func(context.Context) (net.Conn, error)) (*LocalProxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a port on this machine: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &LocalProxy{Address: listener.Addr().String(), listener: listener, secure: secure, dial: dial, cancel: cancel}
	if secure != nil {
		guard, err := d.guard()
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		d.listener = tls.NewListener(listener, guard)
	}
	d.open.Go(func() { d.serve(ctx) })
	return d, nil
}

// guard makes the keys of this doorway, and writes down those of the program.
func (d *LocalProxy) guard() (*tls.Config, error) {
	now := time.Now()
	p, err := pki.NewAuthority("doorway", now)
	if err != nil {
		return nil, err
	}
	a, err := pki.NewSigner(p)
	if err != nil {
		return nil, err
	}
	server, err := a.IssueMember("doorway", []string{"127.0.0.1"}, now)
	if err != nil {
		return nil, err
	}
	client, err := a.IssueClient("doorway", now)
	if err != nil {
		return nil, err
	}
	if d.Directory, err = os.MkdirTemp("", "kubectl-dbop-"); err != nil {
		return nil, fmt.Errorf("make a directory for certificates: %w", err)
	}
	for name, content := range map[string][]byte{"ca.crt": p.Certificate, "tls.crt": client.Certificate,
		"tls.key": client.Key} {
		if err := os.WriteFile(filepath.Join(d.Directory, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("write down a certificate: %w", err)
		}
	}
	pair, err := tls.X509KeyPair(server.Certificate, server.Key)
	if err != nil {
		return nil, fmt.Errorf("use the certificate of a doorway: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.Certificate)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		NextProtos: []string{"h2", "http/1.1"}}, nil
}

func (d *LocalProxy) serve(ctx context.Context) {
	for {
		conn, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.open.Go(func() {
			defer func() { _ = conn.Close() }() // the program may ask why as soon as it is closed
			d.note(d.lead(ctx, conn))
		})
	}
}

// lead takes one connection to its end. After an error the connection is still open.
func (d *LocalProxy) lead(ctx context.Context, near net.Conn) error {
	protocols, err := admit(ctx, near)
	if err != nil {
		return nil // another program, or a program that changed its mind: not the far end's failure
	}
	far, err := d.reach(ctx, protocols)
	if err != nil {
		return err
	}
	defer func() { _ = far.Close() }()
	stop := context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
	defer stop()
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(near, far)
		_ = near.Close()
	}()
	_, _ = io.Copy(far, near)
	_ = far.Close()
	<-back
	return nil
}

// admit shakes hands with the program; it chooses the protocol.
func admit(ctx context.Context, near net.Conn) ([]string, error) {
	guarded, ok := near.(*tls.Conn)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, proxyHandshake)
	defer cancel()
	if err := guarded.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if p := guarded.ConnectionState().NegotiatedProtocol; p != "" {
		return []string{p}, nil
	}
	return nil, nil
}

// reach connects to the far end, in that protocol.
func (d *LocalProxy) reach(ctx context.Context, protocols []string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, proxyHandshake)
	defer cancel()
	far, err := d.dial(ctx)
	if err != nil || d.secure == nil {
		return far, err
	}
	secure := d.secure.Clone()
	secure.NextProtos = protocols
	handshaken := tls.Client(far, secure)
	if err := handshaken.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("shake hands with the member: %w", err), far.Close())
	}
	return handshaken, nil
}

func (d *LocalProxy) note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && !errors.Is(err, context.Canceled) {
		d.err = err
	}
}

// Err is why the far end could last not be reached.
func (d *LocalProxy) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// Close ends all connections and removes the files.
func (d *LocalProxy) Close() error {
	d.cancel()
	err := d.listener.Close()
	d.open.Wait()
	if d.Directory == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(d.Directory))
}
