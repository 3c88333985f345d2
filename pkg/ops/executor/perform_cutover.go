package executor

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// cutOver ends that the cluster follows its source.
func (l *Executor) cutOver(ctx context.Context, session engine.Session, t task) (ops.Result, error) {
	f, ok := session.(engine.Follower)
	if !ok {
		return ops.Result{}, fmt.Errorf("%s follows no other server: %w", l.Engine.Name(), engine.ErrRefused)
	}
	done, err := f.CutOver(ctx, engine.CutOverRequest{Stopped: t.Waives(engine.CheckWriters),
		Back: t.Operation.Spec.WayBack})
	if err != nil {
		return ops.Result{}, err
	}
	text := "an earlier attempt did it"
	if done.Gap > 0 {
		text = fmt.Sprintf("nobody could write for %s", done.Gap.Round(time.Millisecond))
	}
	if done.Compared != "" {
		text += "; " + done.Compared
	}
	switch {
	case done.Paused == engine.UntilOpened:
		text += "; the source lets nobody in until somebody opens its databases"
	case done.Paused > 0:
		text += fmt.Sprintf("; the source refuses writes for another %s", done.Paused.Round(time.Minute))
	}
	return ops.Result{Facts: map[string]string{v1alpha1.FactCutOver: text}}, nil
}

// follow has the cluster follow the one that took its place.
func (l *Executor) follow(ctx context.Context, session engine.Session, t task) (ops.Result, error) {
	f, ok := session.(engine.Follower)
	if !ok {
		return ops.Result{}, fmt.Errorf("%s follows no other server: %w", l.Engine.Name(), engine.ErrRefused)
	}
	other := t.Cluster.DeepCopy()
	other.Name = t.Operation.Spec.Follow
	port, err := clientPort(l.Engine, other)
	if err != nil {
		return ops.Result{}, err
	}
	return done(v1alpha1.FactFollows, f.Follow(ctx, engine.FollowRequest{
		Address: net.JoinHostPort(v1alpha1.ClientHost(other.Name, l.Namespace), strconv.Itoa(port)),
		TLS:     !t.Cluster.Spec.TLS.Disabled}))
}

// endBack gives up the way back after a cut over.
func (l *Executor) endBack(ctx context.Context, session engine.Session, _ task) (ops.Result, error) {
	f, ok := session.(engine.Follower)
	if !ok {
		return ops.Result{}, fmt.Errorf("%s follows no other server: %w", l.Engine.Name(), engine.ErrRefused)
	}
	return done(v1alpha1.FactFinished, f.EndBack(ctx))
}
