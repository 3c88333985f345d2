package progress

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// jsonReporter writes one JSON object per line, for programs that follow.
type jsonReporter struct {
	w   io.Writer
	now func() time.Time

	mu    sync.Mutex
	moved time.Time
}

// progressEvery bounds how often a transfer is told of.
const progressEvery = time.Second

// event is one line of it. Fields are added, never renamed.
type event struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	Step    string    `json:"step,omitempty"`
	Title   string    `json:"title,omitempty"`
	Message string    `json:"message,omitempty"`
	Seconds float64   `json:"seconds,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`
	Total   int64     `json:"total,omitempty"`
	Error   string    `json:"error,omitempty"`
	Plan    *ops.Plan `json:"plan,omitempty"`
}

func (r *jsonReporter) write(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Time = r.now().UTC()
	// A reporter has nobody to tell that its stream is gone.
	_ = json.NewEncoder(r.w).Encode(e)
}

// Planned implements ops.Reporter.
func (r *jsonReporter) Planned(p ops.Plan) { r.write(event{Event: "planned", Plan: &p}) }

// Started implements ops.Reporter.
func (r *jsonReporter) Started(s ops.Step) {
	r.write(event{Event: "started", Step: s.ID, Title: s.Title})
}

// Done implements ops.Reporter.
func (r *jsonReporter) Done(s ops.Step, took time.Duration, err error) {
	e := event{Event: "done", Step: s.ID, Title: s.Title, Seconds: took.Seconds()}
	if err != nil {
		e.Event, e.Error = "failed", err.Error()
	}
	r.write(e)
}

// Waiting implements ops.Reporter.
func (r *jsonReporter) Waiting(s ops.Step, why string) {
	r.write(event{Event: "waiting", Step: s.ID, Title: s.Title, Message: why})
}

// Progress implements ops.Reporter.
func (r *jsonReporter) Progress(s ops.Step, bytes, total int64) {
	r.mu.Lock()
	now := r.now()
	early := now.Sub(r.moved) < progressEvery
	if !early {
		r.moved = now
	}
	r.mu.Unlock()
	if early && bytes != total {
		return
	}
	r.write(event{Event: "progress", Step: s.ID, Bytes: bytes, Total: total})
}

// Note implements ops.Reporter.
func (r *jsonReporter) Note(text string) { r.write(event{Event: "note", Message: text}) }

// Close implements reporter.
func (r *jsonReporter) Close() {}
