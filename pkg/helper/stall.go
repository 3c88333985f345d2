package helper

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// patient reads a request's body as long as it moves: a forwarded connection
// may die without a word, and its upload would hold its lock for ever.
type patient struct {
	body    io.Reader
	control *http.ResponseController
	stall   time.Duration

	mu        sync.Mutex
	abandoned bool
}

func newPatient(w http.ResponseWriter, r *http.Request, stall time.Duration) *patient {
	return &patient{body: r.Body, control: http.NewResponseController(w), stall: stall}
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.wait(); err != nil {
		return 0, err
	}
	return p.body.Read(b)
}

// wait gives the next bytes their time.
func (p *patient) wait() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.abandoned {
		return errUnread
	}
	if err := p.control.SetReadDeadline(time.Now().Add(p.stall)); err != nil {
		return fmt.Errorf("watch the stream for a standstill: %w", err)
	}
	return nil
}

// done lifts the deadline, for what comes after the body may take long.
func (p *patient) done() error { return p.control.SetReadDeadline(time.Time{}) }

// abandon lets a read that is under way run out of time.
func (p *patient) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandoned = true
	_ = p.control.SetReadDeadline(time.Now()) // else it ends by itself
}

// answer sends an answer. A client that is still sending hears it only if the connection stays until it has: what it
// sends until it goes away, in a moment, is dropped.
func (p *patient) answer(send func()) {
	if !p.abandoned || p.control.EnableFullDuplex() != nil {
		send()
		return
	}
	send()
	if p.control.Flush() == nil && p.control.SetReadDeadline(time.Now().Add(farewell)) == nil {
		_, _ = io.Copy(io.Discard, p.body)
	}
}
