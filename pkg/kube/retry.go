package kube

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// AnswerWithin bounds one request: an answer that has not come by then may
	// never come, and a caller that waits for it could not even say so.
	AnswerWithin = 15 * time.Second
	// ReadTries is how often a read is made that an API server fails to answer,
	// and firstPause what lies between the first two; it doubles.
	ReadTries  = 4
	firstPause = 100 * time.Millisecond
)

// errNoAnswer is what became of a request that was given up.
var errNoAnswer = errors.New("no answer within " + AnswerWithin.String())

// bounded gives up a request that is not answered. That is no end of the
// caller's own time, so its error must be another.
func bounded(ctx context.Context, request func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	err := request(inner)
	if err != nil && ctx.Err() == nil && inner.Err() != nil {
		return errNoAnswer
	}
	return err
}

// retried repeats a read over an API server's hiccup: it changes nothing, so
// nothing speaks against it. Who can't be reached at all is not asked again.
func retried(ctx context.Context, read func(context.Context) error) error {
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
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || utilnet.IsConnectionReset(err) ||
		utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}
