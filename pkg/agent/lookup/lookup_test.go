package lookup

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// server is one of DNS on this machine. It keeps silent for its first questions.
func server(t *testing.T, silent int32, answer func(dnsmessage.Question, *dnsmessage.Message)) (*net.Resolver,
	*atomic.Int32,
) {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	asked := &atomic.Int32{}
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || asked.Add(1) <= silent {
				continue
			}
			m.Response = true
			answer(m.Questions[0], &m)
			if raw, err := m.Pack(); err == nil {
				_, _ = socket.WriteTo(raw, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}, asked
}

func known(q dnsmessage.Question, m *dnsmessage.Message) {
	if q.Type == dnsmessage.TypeA {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 5},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
}

func unknown(_ dnsmessage.Question, m *dnsmessage.Message) { m.RCode = dnsmessage.RCodeNameError }

func TestAddresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		address string
		silent  int32
		answer  func(dnsmessage.Question, *dnsmessage.Message)
		want    []string
		fails   string
	}{
		"a name":             {address: "db-1.test.:7", answer: known, want: []string{"127.0.0.1:7"}},
		"an address":         {address: "127.0.0.2:7", answer: unknown, want: []string{"127.0.0.2:7"}},
		"a silent server":    {address: "db-1.test.:7", silent: 2, answer: known, want: []string{"127.0.0.1:7"}},
		"no such name":       {address: "db-1.test.:7", answer: unknown, fails: "no such host"},
		"no answer":          {address: "db-1.test.:7", silent: 1 << 20, answer: known, fails: "i/o timeout"},
		"nothing to resolve": {address: "db-1", answer: known, fails: "missing port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, asked := server(t, c.silent, c.answer)
			ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
			defer stop()
			began := time.Now()
			got, err := addresses(ctx, r, c.address)
			if !slices.Equal(got, c.want) {
				t.Errorf("it found %v after %s and %d questions: %v", got, time.Since(began), asked.Load(), err)
			}
			if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("the error is %v", err)
			}
			var dns *net.DNSError
			if c.fails != "" && c.answer != nil && strings.Contains(c.address, ":") && !errors.As(err, &dns) {
				t.Errorf("the error is none of DNS: %v", err)
			}
		})
	}
}

// TestDial has the first of two addresses take nothing.
func TestDial(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	// Nobody answers at an address for documentation (RFC 5737).
	c, err := Dial(ctx, &net.Dialer{}, []string{"192.0.2.1:7", l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
