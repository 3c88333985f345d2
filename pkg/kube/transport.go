package kube

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// meter counts requests and learns the API server's clock from the answers.
type meter struct {
	requests atomic.Int64
	clock    serverClock
}

// wrap is a transport.WrapperFunc.
func (m *meter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		m.requests.Add(1)
		sent := time.Now()
		resp, err := next.RoundTrip(req)
		if err == nil {
			if date, perr := http.ParseTime(resp.Header.Get("Date")); perr == nil {
				m.clock.note(sent, time.Now(), date)
			}
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// serverClock is how far the server's clock is ahead of ours.
type serverClock struct {
	mu     sync.Mutex
	offset time.Duration
}

// note takes one answer. A Date header has whole seconds, so it only proves
// that the server's time was in [date, date+1s) at some moment between sent
// and received. The offset moves only as far as that proof demands: it stays
// put, and time does not jitter, while it agrees.
func (c *serverClock) note(sent, received, date time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ahead := date.Sub(received.Add(c.offset)); ahead > 0 {
		c.offset += ahead
	} else if behind := sent.Add(c.offset).Sub(date.Add(time.Second)); behind > 0 {
		c.offset -= behind
	}
}

func (c *serverClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}
