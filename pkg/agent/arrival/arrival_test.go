//go:build linux

package arrival

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// listen returns a port at which nobody accepts, and clients that connected to it.
func listen(t *testing.T, network, address string, clients int) (port int, conns []net.Conn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skipf("this machine has no %s: %v", network, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for range clients {
		c, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		conns = append(conns, c)
	}
	return l.Addr().(*net.TCPAddr).Port, conns
}

func near(c net.Conn) netip.AddrPort { return netip.MustParseAddrPort(c.LocalAddr().String()) }

// TestClients finds those that the server has not taken yet too.
func TestClients(t *testing.T) {
	t.Parallel()
	for network, address := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			port, conns := listen(t, network, address, 2)
			got, err := Clients(port)
			if err != nil || len(got) != 2 || !got[near(conns[0])] || !got[near(conns[1])] {
				t.Errorf("%v are connected, not %v and %v: %v", got, near(conns[0]), near(conns[1]), err)
			}
		})
	}
}

// TestWait waits for a client that logs in and for one that goes, and not for one that comes later.
func TestWait(t *testing.T) {
	t.Parallel()
	port, conns := listen(t, "tcp4", "127.0.0.1:0", 2)
	asked := 0
	err := Wait(t.Context(), port, func(context.Context) ([]netip.AddrPort, error) {
		switch asked++; asked {
		case 1:
			_ = conns[1].Close()
			late, err := net.DialTCP("tcp4", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
			if err == nil {
				t.Cleanup(func() { _ = late.Close() })
			}
			return nil, err
		case 2:
			return nil, nil
		}
		return []netip.AddrPort{near(conns[0])}, nil
	})
	if err != nil || asked != 3 {
		t.Errorf("it asked %d times, want 3: %v", asked, err)
	}
}

// TestWaitEnds gives up with the context, and with a server that does not answer.
func TestWaitEnds(t *testing.T) {
	port, _ := listen(t, "tcp4", "127.0.0.1:0", 1)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		err := Wait(ctx, port, func(context.Context) ([]netip.AddrPort, error) { return nil, nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a client that never logs in: %v", err)
		}
	})
	if err := Wait(t.Context(), port, func(context.Context) ([]netip.AddrPort, error) {
		return nil, net.ErrClosed
	}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a server that does not answer: %v", err)
	}
}

// FuzzRead reads any table without a panic.
func FuzzRead(f *testing.F) {
	f.Add("head\n 0: 0100007F:1538 0100007F:D0F2 01 rest\n")
	f.Add("head\n 0: 00000000000000000000000001000000:1538 0000000000000000FFFF00000100007F:D0F2 03\n")
	f.Fuzz(func(_ *testing.T, table string) {
		_ = read(strings.NewReader(table), 5432, map[netip.AddrPort]bool{})
	})
}
