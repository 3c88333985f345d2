// Package wire is the ground that the in-pod servers and their clients share:
// an HTTP client that dials into a pod, and errors that stay typed across it.
package wire

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Dial opens one connection to the server, for example by port-forward.
type Dial func(ctx context.Context) (net.Conn, error)

// Chunk is the buffer size for streams: large enough that system calls don't
// count, small enough that memory doesn't.
const Chunk = 1 << 20

// maxHeader bounds the headers of an answer; the largest carries a manifest.
const maxHeader = 2 << 20

// NewClient makes an HTTP client whose every connection comes from dial.
// Proxies, redirects and compression are off: the peer is one known process.
func NewClient(dial Dial) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:           func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			DisableCompression:    true,
			MaxIdleConnsPerHost:   2,
			IdleConnTimeout:       30 * time.Second,
			ExpectContinueTimeout: 30 * time.Second,
			WriteBufferSize:       Chunk / 4,
			ReadBufferSize:        Chunk / 4,

			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
