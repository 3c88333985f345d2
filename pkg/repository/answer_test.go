package repository

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// forever writes the same text again and again, until nobody reads.
func forever(w io.Writer, text string) {
	for {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// TestHostileServersAreBounded asks servers that answer with more than this tool ever does.
func TestHostileServersAreBounded(t *testing.T) {
	padding := strings.Repeat(" ", 64<<10)
	for name, answer := range map[string]func(http.ResponseWriter){
		"blanks": func(w http.ResponseWriter) { forever(w, padding) },
		"a string": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"id":"`)
			forever(w, strings.Repeat("x", 64<<10))
		},
		"entries": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"manifests":[{}`)
			forever(w, strings.Repeat(",{}", 1000))
		},
		"faults": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"broken":[{}`)
			forever(w, strings.Repeat(",{}", 1000))
		},
		"nesting": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"other":`)
			forever(w, strings.Repeat("[", 1000))
		},
		"an error": func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot); forever(w, padding) },
	} {
		t.Run(name, func(t *testing.T) {
			r := serveHTTP(t, answer)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, listed := r.List(ctx, "")
			_, got := r.Get(ctx, "my-db-20261121T101500Z-0a1b")
			deleted := r.Delete(ctx, "my-db-20261121T101500Z-0a1b")
			_, probed := r.Probe(ctx)
			for what, err := range map[string]error{"list": listed, "get": got, "delete": deleted, "probe": probed,
				"ready": r.Ready(ctx)} {
				if err == nil || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if (name == "entries" || name == "faults") && !errors.Is(listed, errListing) {
				t.Error(listed)
			}
		})
	}
}

// TestListingsOfManyAreRead reads as many entries as are allowed.
func TestListingsOfManyAreRead(t *testing.T) {
	var l Listing
	text := `{"later":{"x":[1]},"manifests":[{"id":"a"}` + strings.Repeat(`,{"id":"b"}`, maxBackups-1) +
		`],"broken":null}`
	if err := decodeAnswer(strings.NewReader(text), &l); err != nil || len(l.Manifests) != maxBackups ||
		l.Manifests[0].ID != "a" {
		t.Error(err, len(l.Manifests))
	}
}

func serveHTTP(t *testing.T, answer func(http.ResponseWriter)) *Remote {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) })}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(at) }()
	return NewRemote("pvc:claim", func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", at.Addr().String())
	})
}
