package client

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
)

// fault gives an error of etcd its meaning: wait, refused, or just failed.
// ctx is the caller's: an end that it set itself is no reason to try again.
func fault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w (%s)", ctx.Err(), plain(err))
	}
	err = rpctypes.Error(err)
	switch {
	case errors.Is(err, rpctypes.ErrMemberNotEnoughStarted):
		return refusal.New("unstarted-member",
			"kubectl dbop status shows which member has not started; start or remove it first",
			"etcd refuses to change the member list: too few members have started (%v)", err)
	case errors.Is(err, rpctypes.ErrTooManyLearners):
		return refusal.New("learner-open", "kubectl dbop status shows the open learner; promote or remove it first",
			"etcd refuses another learner (%v)", err)
	case errors.Is(err, rpctypes.ErrBadLeaderTransferee):
		return refusal.New("successor", "choose a started voter", "etcd refuses that successor (%v)", err)
	case transient(err):
		return fmt.Errorf("%w: %w", engine.ErrNotReady, err)
	default:
		return err
	}
}

// transient reports whether waiting may help. Unavailable covers an unhealthy
// cluster, a lost leader, a lost connection and etcd's own timeouts.
func transient(err error) bool {
	if errors.Is(err, rpctypes.ErrMemberLearnerNotReady) || errors.Is(err, rpctypes.ErrNotLeader) ||
		errors.Is(err, rpctypes.ErrTooManyRequests) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if known, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		return known.Code() == codes.Unavailable
	}
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Canceled
}
