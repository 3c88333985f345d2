// Package portforward reaches pods from outside the cluster, through the API
// server: one upgraded connection per pod, with a stream for each connection
// to a port. It needs the right to create pods/portforward.
package portforward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	clientportforward "k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
)

// tunnel is an upgraded connection.
type tunnel struct {
	connection httpstream.Connection
	done       chan struct{}
	requests   atomic.Int64
}

// New returns what opens tunnels with the client's configuration: over
// websockets, and by the older SPDY upgrade where a server or proxy does not
// know those.
func New(c *kube.Client) dial.Tunneller {
	return func(ctx context.Context, namespace, pod string) (dial.Tunnel, error) {
		attempt := kube.RequestError{Verb: "create", Resource: "pods/portforward", Namespace: namespace, Name: pod}
		connection, err := dialStream(ctx, c.Config(), namespace, pod)
		if err != nil {
			return nil, c.Explain(cause(err), attempt)
		}
		t := &tunnel{connection: connection, done: make(chan struct{})}
		go func() {
			defer close(t.done)
			<-connection.CloseChan()
		}()
		return t, nil
	}
}

// dial is bounded by ctx although the dialers below it are not: one that comes
// too late is closed by the goroutine that waited for it.
func dialStream(ctx context.Context, config *rest.Config, namespace, pod string) (httpstream.Connection, error) {
	var refusal error
	dialer, err := newDialer(config, namespace, pod, func(err error) { refusal = err })
	if err != nil {
		return nil, err
	}
	return within(ctx, func() (httpstream.Connection, error) {
		connection, protocol, err := dialer.Dial(clientportforward.PortForwardProtocolV1Name)
		if err != nil && refusal != nil {
			return nil, refusal
		}
		if err != nil {
			return nil, err
		}
		if protocol != clientportforward.PortForwardProtocolV1Name {
			_ = connection.Close()
			return nil, fmt.Errorf("the server speaks port-forward protocol %q, not %q", protocol,
				clientportforward.PortForwardProtocolV1Name)
		}
		return connection, nil
	}, func(late httpstream.Connection) { _ = late.Close() })
}

// newDialer tries websockets first. refused hears of a right that is missing
// for them: an older server asks for another right than for the older way, but
// that way's own answer is mere text.
func newDialer(config *rest.Config, namespace, pod string, refused func(error)) (httpstream.Dialer, error) {
	at, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API server: %w", err)
	}
	at = at.JoinPath("api/v1/namespaces", url.PathEscape(namespace), "pods", url.PathEscape(pod), "portforward")
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, fmt.Errorf("prepare an SPDY connection: %w", err)
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
	newer, err := clientportforward.NewSPDYOverWebsocketDialerForStreaming(at, config)
	if err != nil {
		return nil, fmt.Errorf("prepare a websocket connection: %w", err)
	}
	return clientportforward.NewFallbackDialerForStreaming(newer, older, func(err error) bool {
		if apierrors.IsForbidden(cause(err)) {
			refused(err)
		}
		// An answer about the pod itself would be the same by the older way.
		return (httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)) && !apierrors.IsNotFound(cause(err))
	}), nil
}

// cause digs out the API server's own answer from a failed upgrade.
func cause(err error) error {
	if upgrade, ok := errors.AsType[*httpstream.UpgradeFailureError](err); ok {
		return upgrade.Cause
	}
	return err
}

// Open makes a stream to a port of the pod.
func (t *tunnel) Open(ctx context.Context, port int) (net.Conn, error) {
	return within(ctx, func() (net.Conn, error) { return t.stream(port) }, func(late net.Conn) { _ = late.Close() })
}

func (t *tunnel) stream(port int) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.FormatInt(t.requests.Add(1), 10))
	errorStream, err := t.connection.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("open an error stream: %w", err)
	}
	// Nothing is ever written to it.
	_ = errorStream.Close()
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := t.connection.CreateStream(headers)
	if err != nil {
		_ = errorStream.Reset()
		t.connection.RemoveStreams(errorStream)
		return nil, fmt.Errorf("open a data stream: %w", err)
	}
	return newStream(data, errorStream, port, func() { t.connection.RemoveStreams(data, errorStream) }), nil
}

// Done is closed when the connection is lost.
func (t *tunnel) Done() <-chan struct{} { return t.done }

// Close ends the connection and all its streams.
func (t *tunnel) Close() error {
	err := t.connection.Close()
	if err != nil && strings.Contains(err.Error(), "use of closed network connection") {
		return nil
	}
	return err
}

// within runs what has no context of its own. A result that comes after ctx
// ended goes to drop.
func within[T any](ctx context.Context, do func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	// Unbuffered, so that a result is either taken or dropped.
	done := make(chan result)
	go func() {
		value, err := do()
		select {
		case done <- result{value, err}:
		case <-ctx.Done():
			if err == nil {
				drop(value)
			}
		}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}
