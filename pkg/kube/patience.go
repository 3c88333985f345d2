package kube

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// AnswerWithin bounds one request: an answer that has not come by then may
	// never come, and whoever waits for it could not even say so.
	AnswerWithin = 15 * time.Second
	// ReadTries is how often a read is made that an API server fails to answer,
	// and firstPause what lies between the first two; it doubles.
	ReadTries  = 4
	firstPause = 100 * time.Millisecond
)

// errNoAnswer is what became of a request that was given up.
var errNoAnswer = errors.New("no answer within " + AnswerWithin.String())

// bounded gives up a request that is not answered. That is no end of the
// caller's own time, so it must not look like one.
func bounded(ctx context.Context, request func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	err := request(inner)
	if err != nil && ctx.Err() == nil && inner.Err() != nil {
		return errNoAnswer
	}
	return err
}

// patient repeats a read over an API server's hiccup: it changes nothing, so
// nothing speaks against it. Who can't be reached at all is not asked again.
func patient(ctx context.Context, read func(context.Context) error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := bounded(ctx, read)
		if err == nil || try == ReadTries || !Transient(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause *= 2
	}
}

// Transient reports whether the same request may well succeed in a moment.
func Transient(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// Together runs all at once and returns the first failure, not those that it
// caused in the others.
func Together(ctx context.Context, all ...func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var first error
	var once sync.Once
	for _, do := range all {
		wg.Go(func() {
			if err := do(ctx); err != nil {
				once.Do(func() { first = err; cancel(err) })
			}
		})
	}
	wg.Wait()
	return first
}
