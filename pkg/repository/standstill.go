package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// StandstillAfter is how long no byte of a stream may move before it is given up. It is longer than the patience with
// an object store that does not answer, which ends by itself and tells more.
const StandstillAfter = 20 * time.Minute

// ErrStandstill: no byte of a stream moved for StandstillAfter. A repeat may help.
var ErrStandstill = errors.New("it came to a standstill")

// Standstill ends what moves bytes once none moved for so long, however long all of it takes. It begins to watch when
// it is made, and its owner calls End.
type Standstill struct {
	ctx   context.Context
	give  context.CancelCauseFunc
	after time.Duration
	timer *time.Timer
}

// WatchStandstill returns a context for the work, which ends with ErrStandstill as its cause.
func WatchStandstill(ctx context.Context, after time.Duration) (context.Context, *Standstill) {
	ctx, give := context.WithCancelCause(ctx)
	s := &Standstill{ctx: ctx, give: give, after: after}
	s.timer = time.AfterFunc(after, func() {
		give(fmt.Errorf("%w: no byte moved for %s", ErrStandstill, after))
	})
	return ctx, s
}

// Moved says that bytes moved.
func (s *Standstill) Moved() {
	if s.ctx.Err() == nil {
		s.timer.Reset(s.after)
	}
}

// Reader passes on what r reads, and watches until its end: what is made of the bytes afterwards moves none.
func (s *Standstill) Reader(r io.Reader) io.Reader { return watchedReader{r, s} }

// End stops to watch. It returns err, the end of the work, with the reason if a standstill is one.
func (s *Standstill) End(err error) error {
	s.timer.Stop()
	cause := context.Cause(s.ctx)
	s.give(nil)
	if err != nil && errors.Is(cause, ErrStandstill) && !errors.Is(err, ErrStandstill) {
		return fmt.Errorf("%w: %v", cause, err) //nolint:errorlint // that it was cancelled is no reason of its own
	}
	return err
}

type watchedReader struct {
	io.Reader

	watch *Standstill
}

func (r watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	switch {
	case err != nil:
		r.watch.timer.Stop()
		if cause := context.Cause(r.watch.ctx); errors.Is(cause, ErrStandstill) && !errors.Is(err, io.EOF) {
			err = cause
		}
	case n > 0:
		r.watch.Moved()
	}
	return n, err
}
