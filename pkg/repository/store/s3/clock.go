package s3

import (
	"net/http"
	"sync/atomic"
	"time"
)

// clock tells the time of a store by the date of its newest answer. Before the first answer, and where answers have no
// date, it is the time of this machine.
type clock struct{ ahead atomic.Int64 }

// dateExact is how exact dates of answers are: they have no parts of a second, and were on the way.
const dateExact = 2 * time.Second

// now is the time of this machine where its clock is that of the store, as far as a date tells.
func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// dated reads the dates of answers.
type dated struct {
	http.RoundTripper

	clock *clock
}

// RoundTrip implements http.RoundTripper.
func (t dated) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		ahead := time.Until(date)
		if ahead.Abs() <= dateExact {
			ahead = 0
		}
		t.clock.ahead.Store(int64(ahead))
	}
	return answer, nil
}
