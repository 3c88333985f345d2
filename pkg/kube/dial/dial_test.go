package dial

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// fakeTunnel opens pipes; while broken, none.
type fakeTunnel struct {
	mu     sync.Mutex
	broken error
	hangs  bool
	closed bool
	done   chan struct{}
	far    []net.Conn
}

func (t *fakeTunnel) Open(ctx context.Context, _ int) (net.Conn, error) {
	if t.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken != nil {
		return nil, t.broken
	}
	near, far := net.Pipe()
	t.far = append(t.far, far)
	return near, nil
}

func (t *fakeTunnel) Done() <-chan struct{} { return t.done }

func (t *fakeTunnel) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return nil
}

func (t *fakeTunnel) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// fakeTunnels counts what is opened, and fails while down.
type fakeTunnels struct {
	opened []*fakeTunnel
	down   error
}

func (f *fakeTunnels) open(ctx context.Context, _, _ string) (Tunnel, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.down != nil {
		return nil, f.down
	}
	t := &fakeTunnel{done: make(chan struct{})}
	f.opened = append(f.opened, t)
	return t, nil
}

func testDialer(t *testing.T) (*Dialer, *fakeTunnels) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	f := &fakeTunnels{}
	return NewDialer(c, f.open), f
}

func mustDial(t *testing.T, d *Dialer, pod string) net.Conn {
	t.Helper()
	c, err := d.DialPod(t.Context(), "shop", pod, 2379)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDialerSharesOneTunnelPerPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, f := testDialer(t)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { mustDial(t, d, "db-1-0") })
		}
		wg.Wait()
		mustDial(t, d, "db-2-0")
		if len(f.opened) != 2 {
			t.Errorf("%d tunnels to two pods", len(f.opened))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if !f.opened[0].isClosed() || !f.opened[1].isClosed() {
			t.Error("close left a tunnel open")
		}
		if _, err := d.DialPod(t.Context(), "shop", "db-1-0", 1); !errors.Is(err, ErrClosed) {
			t.Errorf("dial after close: %v", err)
		}
	})
}

func TestDialerReplacesABrokenTunnelOnce(t *testing.T) {
	breaks := map[string]func(*fakeTunnel){
		"known to be lost": func(f *fakeTunnel) { close(f.done) },
		"clogged":          func(f *fakeTunnel) { f.hangs = true },
		"found to be lost": func(f *fakeTunnel) { f.broken = errors.New("pod is gone") },
	}
	for name, breakIt := range breaks {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, f := testDialer(t)
				mustDial(t, d, "db-1-0")
				breakIt(f.opened[0])
				mustDial(t, d, "db-1-0")
				if len(f.opened) != 2 {
					t.Errorf("%d tunnels, want the second", len(f.opened))
				}
				f.opened[1].broken = errors.New("gone as well")
				f.down = errors.New("no such pod")
				if _, err := d.DialPod(t.Context(), "shop", "db-1-0", 1); !errors.Is(err, f.down) {
					t.Errorf("got %v, want %v", err, f.down)
				}
			})
		})
	}
}

func TestFailedStreamRetiresTheTunnelButSparesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, f := testDialer(t)
		good, bad := mustDial(t, d, "db-1-0"), mustDial(t, d, "db-1-0")
		inner := bad.(*forwarded)
		inner.Conn = failingConn{inner.Conn}
		if _, err := bad.Read(make([]byte, 1)); err == nil {
			t.Fatal("read succeeded")
		}
		_ = bad.Close()
		if f.opened[0].isClosed() {
			t.Error("the tunnel was closed under a working stream")
		}
		mustDial(t, d, "db-1-0")
		if len(f.opened) != 2 {
			t.Errorf("%d tunnels, want a fresh one", len(f.opened))
		}
		_ = good.Close()
		_ = good.Close()
		if !f.opened[0].isClosed() {
			t.Error("the retired tunnel outlived its last stream")
		}
	})
}

type failingConn struct{ net.Conn }

func (failingConn) Read([]byte) (int, error) { return 0, errors.New("connection refused") }

func TestEndOfStreamIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, f := testDialer(t)
		c := mustDial(t, d, "db-1-0")
		_ = f.opened[0].far[0].Close()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("read: %v, want EOF", err)
		}
		_ = c.Close()
		mustDial(t, d, "db-1-0")
		if len(f.opened) != 1 {
			t.Errorf("%d tunnels, want the same", len(f.opened))
		}
	})
}

func TestDialEndsWithItsContextButNotForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, f := testDialer(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := d.DialPod(ctx, "shop", "db-1-0", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		mustDial(t, d, "db-1-0")
		if len(f.opened) != 1 {
			t.Errorf("%d tunnels, want the one that was being opened", len(f.opened))
		}
	})
}

// TestDialerTriesTheSeenAddressFirst: a pod that was just observed is not
// read again, unless nobody answers where it was.
func TestDialerTriesTheSeenAddressFirst(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	for seen, want := range map[string]int64{"127.0.0.1": 0, "127.0.0.2": 1, "": 1} {
		var asked atomic.Int64
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-1-0"},
			Status: corev1.PodStatus{PodIP: "127.0.0.1"}}
		c, _ := kubetest.New(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey,
			o client.Object, opts ...client.GetOption) error {
			asked.Add(1)
			return c.Get(ctx, key, o, opts...)
		}}, p)
		d := NewDialer(c, nil)
		d.direct = true
		conn, err := d.DialPodAt(t.Context(), p.Namespace, p.Name, seen, port)
		if err != nil {
			t.Fatalf("seen at %q: %v", seen, err)
		}
		_ = conn.Close()
		if asked.Load() != want {
			t.Errorf("seen at %q: read %d times, want %d", seen, asked.Load(), want)
		}
	}
}
