package helper

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// patient reads a request's body as long as it moves: a forwarded connection
// may die without a word, and its upload would hold its lock for ever.
type patient struct {
	body    io.Reader
	control *http.ResponseController
	stall   time.Duration
}

func newPatient(w http.ResponseWriter, r *http.Request, stall time.Duration) *patient {
	return &patient{body: r.Body, control: http.NewResponseController(w), stall: stall}
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.control.SetReadDeadline(time.Now().Add(p.stall)); err != nil {
		return 0, fmt.Errorf("watch the stream for a standstill: %w", err)
	}
	return p.body.Read(b)
}

// done lifts the deadline, for what comes after the body may take long.
func (p *patient) done() error { return p.control.SetReadDeadline(time.Time{}) }
