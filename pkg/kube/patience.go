package kube

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// answerWithin bounds one request: an answer that has not come by then may
	// never come, and whoever waits for it could not even say so.
	answerWithin = 15 * time.Second
	// readTries is how often a read is made that an API server fails to answer,
	// and firstPause what lies between the first two; it doubles.
	readTries  = 4
	firstPause = 100 * time.Millisecond
)

// errNoAnswer is what became of a request that was given up.
var errNoAnswer = errors.New("no answer within " + answerWithin.String())

// bounded gives up a request that is not answered. That is no end of the
// caller's own time, so it must not look like one.
func bounded(ctx context.Context, request func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, answerWithin)
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
		if err == nil || try == readTries || !hiccup(err) {
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

// hiccup reports whether the same request may well succeed in a moment.
func hiccup(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}
