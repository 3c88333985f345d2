package store

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a network between a client and a server in memory.
type pipes struct {
	net.Listener

	dialled chan net.Conn
	closed  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p pipes) Close() error {
	close(p.closed)
	return nil
}

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.dialled <- there
	return here, nil
}

// slow is a body of three bytes, each of which takes longer than a store may take to answer.
type slow struct{ left int }

func (s *slow) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(2 * answerTime)
	s.left--
	b[0] = 'x'
	return 1, nil
}

// TestTransportBoundsTheAnswer: a store that takes a request and says nothing is given up. How long bytes travel, there
// or back, does not count.
func TestTransportBoundsTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"silent": {serve: func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}},
		"slow upload, and an answer at the last moment": {serve: func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			time.Sleep(answerTime - time.Second)
			_, _ = w.Write(body)
		}, want: "xxx"},
		"slow download": {serve: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			_, _ = io.Copy(w, &slow{left: 4})
		}, want: "xxxx"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := pipes{dialled: make(chan net.Conn), closed: make(chan struct{})}
				server := &http.Server{Handler: c.serve, ReadHeaderTimeout: time.Hour}
				go func() { _ = server.Serve(network) }()
				transport, err := Transport(nil)
				if err != nil {
					t.Fatal(err)
				}
				transport.DialContext = network.dial
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				request, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://store/", &slow{left: 3})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				answer, err := (&http.Client{Transport: transport}).Do(request)
				var body []byte
				if err == nil {
					body, err = io.ReadAll(answer.Body)
					_ = answer.Body.Close()
				}
				silent := c.want == ""
				if silent && (err == nil || !strings.Contains(err.Error(), "awaiting response headers")) ||
					!silent && (err != nil || !bytes.Equal(body, []byte(c.want))) {
					t.Errorf("%q, %v", body, err)
				}
				if took := time.Since(began); silent && took != 6*answerTime+answerTime {
					t.Errorf("it took %v", took)
				}
				transport.CloseIdleConnections()
				_ = server.Close()
			})
		})
	}
}
