// Package dial opens connections to pods: by port-forward, or by TCP inside the
// cluster.
package dial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// tunnelDeadline bounds the opening of a tunnel, streamDeadline that of a
// stream in a tunnel that others use too. Streams of a tunnel have no flow
// control of their own: behind one whose reader is slow all others queue, and
// then a tunnel more is better than waiting.
const (
	tunnelDeadline = 30 * time.Second
	streamDeadline = 2 * time.Second
	// firstDeadline is for an address that may be of a pod that is gone.
	firstDeadline = time.Second
)

// Tunnel is a connection to one pod that carries many streams.
type Tunnel interface {
	// Open makes a stream to a port on the pod's loopback. Whether anything
	// listens there shows only when the stream is read.
	Open(ctx context.Context, port int) (net.Conn, error)
	// Done is closed when the tunnel is broken.
	Done() <-chan struct{}
	// Close ends the tunnel and all its streams.
	Close() error
}

// Tunneller opens tunnels; see package portforward.
type Tunneller func(ctx context.Context, namespace, pod string) (Tunnel, error)

// ErrClosed is what a closed Dialer answers.
var ErrClosed = errors.New("the dialer is closed")

// Dialer connects to pods from wherever this process runs: inside the cluster
// by TCP, from outside through one tunnel per pod. It is safe for concurrent use.
type Dialer struct {
	client *kube.Client
	open   Tunneller
	direct bool

	mu     sync.Mutex
	lanes  map[client.ObjectKey]*lane
	closed bool
}

// NewDialer makes a Dialer; it connects to nothing yet.
func NewDialer(c *kube.Client, open Tunneller) *Dialer {
	return &Dialer{client: c, open: open, direct: inCluster(c), lanes: map[client.ObjectKey]*lane{}}
}

// inCluster reports whether the client uses the service account of the pod
// that this process runs in; only then are pods' addresses reachable for sure.
func inCluster(c *kube.Client) bool {
	const token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	return os.Getenv("KUBERNETES_SERVICE_HOST") != "" && c.Config().BearerTokenFile == token
}

// DialPod connects to a port of a pod.
func (d *Dialer) DialPod(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	return d.DialPodAt(ctx, namespace, pod, "", port)
}

// DialPodAt is DialPod for a pod of which the address was just seen: where
// that leads to nobody, the pod may have another by now, which is read.
func (d *Dialer) DialPodAt(ctx context.Context, namespace, pod, address string, port int) (net.Conn, error) {
	if !d.direct {
		return d.DialLoopback(ctx, namespace, pod, port)
	}
	if address != "" {
		first := net.Dialer{Timeout: firstDeadline}
		if conn, err := first.DialContext(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port))); err == nil {
			return conn, nil
		}
	}
	p := &corev1.Pod{}
	if err := d.client.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pod}, p); err != nil {
		return nil, err
	}
	if p.Status.PodIP == "" {
		return nil, fmt.Errorf("dial pod %s/%s: it has no address yet", namespace, pod)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(p.Status.PodIP, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("dial pod %s/%s: %w", namespace, pod, err)
	}
	return conn, nil
}

// DialLoopback connects to a port that a pod serves on its own loopback,
// always through a tunnel. A tunnel that proves to be broken, because its
// pod was replaced for example, or clogged, is replaced once.
func (d *Dialer) DialLoopback(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	key := client.ObjectKey{Namespace: namespace, Name: pod}
	for {
		l, fresh, err := d.lane(key)
		if err != nil {
			return nil, err
		}
		conn, err := l.dial(ctx, port, fresh)
		if err == nil {
			return &forwarded{Conn: conn, lane: l, dialer: d}, nil
		}
		if ctx.Err() == nil {
			d.retire(l)
		}
		d.leave(l)
		if fresh || ctx.Err() != nil {
			return nil, fmt.Errorf("dial port %d of pod %s: %w", port, key, err)
		}
	}
}

// Close ends all tunnels and with them all connections; a repeat does nothing.
func (d *Dialer) Close() error {
	d.mu.Lock()
	lanes := d.lanes
	d.lanes, d.closed = nil, true
	d.mu.Unlock()
	var all []error
	for _, l := range lanes {
		<-l.ready
		if l.tunnel != nil {
			all = append(all, l.tunnel.Close())
		}
	}
	return errors.Join(all...)
}

// lane is a tunnel that is open or being opened, and its users.
type lane struct {
	key    client.ObjectKey
	ready  chan struct{}
	tunnel Tunnel
	err    error

	// Guarded by the dialer's lock.
	users   int
	retired bool
}

// lane returns the pod's lane, counted as used once more, and whether it is new.
func (d *Dialer) lane(key client.ObjectKey) (*lane, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false, ErrClosed
	}
	if l := d.lanes[key]; l != nil && !l.broken() {
		l.users++
		return l, false, nil
	}
	l := &lane{key: key, ready: make(chan struct{}), users: 1}
	d.lanes[key] = l
	go func() {
		defer close(l.ready)
		// Not the first caller's context: others wait for the same tunnel.
		ctx, cancel := context.WithTimeout(context.Background(), tunnelDeadline)
		defer cancel()
		l.tunnel, l.err = d.open(ctx, key.Namespace, key.Name)
	}()
	return l, true, nil
}

// broken reports whether the tunnel is known not to work any more.
func (l *lane) broken() bool {
	select {
	case <-l.ready:
	default:
		return false
	}
	if l.err != nil {
		return true
	}
	select {
	case <-l.tunnel.Done():
		return true
	default:
		return false
	}
}

func (l *lane) dial(ctx context.Context, port int, fresh bool) (net.Conn, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.ready:
	}
	if l.err != nil {
		return nil, l.err
	}
	if !fresh {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, streamDeadline)
		defer cancel()
	}
	return l.tunnel.Open(ctx, port)
}

// retire lets nobody else use the lane. Streams that work go on until they are closed.
func (d *Dialer) retire(l *lane) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.retired = true
	if d.lanes[l.key] == l {
		delete(d.lanes, l.key)
	}
}

// leave gives up one use; the last one out of a retired lane closes it.
func (d *Dialer) leave(l *lane) {
	d.mu.Lock()
	l.users--
	last := l.retired && l.users == 0
	d.mu.Unlock()
	if !last {
		return
	}
	<-l.ready
	if l.tunnel != nil {
		_ = l.tunnel.Close()
	}
}

// forwarded is a stream that gives its lane up when it fails or is closed.
type forwarded struct {
	net.Conn
	lane   *lane
	dialer *Dialer
	once   sync.Once
}

// Read retires the lane if the far end could not be reached: the stream can't
// tell a refused connection from a pod that is no more.
func (f *forwarded) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) &&
		!errors.Is(err, net.ErrClosed) {
		f.dialer.retire(f.lane)
	}
	return n, err
}

// Close ends the stream; a repeat does nothing.
func (f *forwarded) Close() error {
	var err error
	f.once.Do(func() {
		err = f.Conn.Close()
		f.dialer.leave(f.lane)
	})
	return err
}
