package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// copier writes so many bytes in pieces, and then fails.
type copier struct {
	pieces int
	err    error
}

const piece = 100 << 10

func (c copier) Copy(_ context.Context, w io.Writer) error {
	for i := range c.pieces {
		if _, err := w.Write(bytes.Repeat([]byte{byte(i)}, piece)); err != nil {
			return err
		}
	}
	return c.err
}

func (c copier) Contents(context.Context) (Contents, error) {
	return Contents{Proof: "p", Readings: []Reading{{Name: "a", Value: "1"}}}, c.err
}

// TestCopy: a copy is whole, or there is an error with the reason.
func TestCopy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		copier  Copier
		bytes   int
		want    string
		refused bool
	}{
		"whole":         {copier: copier{pieces: 20}, bytes: 20 * piece},
		"empty":         {copier: copier{}},
		"fails at once": {copier: copier{err: errors.New("no log")}, want: "no log"},
		"refuses":       {copier: copier{err: Refused{Why: "two places"}}, want: "two places", refused: true},
		"fails in between": {copier: copier{pieces: 7, err: errors.New("log\nis gone")}, bytes: 7 * piece,
			want: "log is gone"},
		"nothing to be read": {want: "no data to copy", refused: true},
	} {
		s := newAgent().service()
		s.Copier = test.copier
		var got bytes.Buffer
		err := client(t, s).Copy(t.Context(), &got)
		if got.Len() != test.bytes {
			t.Errorf("%s: %d bytes arrived, want %d", name, got.Len(), test.bytes)
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
		if _, refused := errors.AsType[Refused](err); refused != test.refused {
			t.Errorf("%s: refused is %t: %v", name, refused, err)
		}
	}
}

// TestCopyCut: a stream that ends anywhere is no copy, also where a proxy ends it in order.
func TestCopyCut(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	answer := httptest.NewRecorder()
	s := newAgent().service()
	s.Copier = copier{pieces: 2}
	s.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/v1/copy", nil))
	if err := answer.Result().Write(&whole); err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{0, 10, 300, whole.Len() / 2, whole.Len() - 1} {
		server, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = conn.Write(whole.Bytes()[:length])
			_ = conn.Close()
		}()
		c := NewClient("m1", func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", server.Addr().String())
		}, nil)
		if err := c.Copy(t.Context(), io.Discard); err == nil {
			t.Errorf("%d of %d bytes are taken for a copy", length, whole.Len())
		}
		c.Close()
		_ = server.Close()
	}
}

func TestContents(t *testing.T) {
	t.Parallel()
	s := newAgent().service()
	s.Copier = copier{}
	got, err := client(t, s).Contents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Contents{Proof: "p", Readings: []Reading{{Name: "a", Value: "1"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPlain: without TLS the service answers, and a client with TLS gets nothing from it.
func TestPlain(t *testing.T) {
	t.Parallel()
	s := newAgent().service()
	s.Copier = copier{pieces: 3}
	clients, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	agents := NewListener()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(clients, nil, agents) }()
	dial := func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", clients.Addr().String())
	}
	var got bytes.Buffer
	plain := NewClient("m1", dial, nil)
	if err := plain.Copy(t.Context(), &got); err != nil || got.Len() != 3*piece {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
	plain.Close()
	if _, err := NewClient("m1", dial, &tls.Config{MinVersion: tls.VersionTLS13}).Status(t.Context()); err == nil {
		t.Error("a client with TLS is answered")
	}
	if err := errors.Join(clients.Close(), agents.Close(), <-ended); err != nil {
		t.Error(err)
	}
}
