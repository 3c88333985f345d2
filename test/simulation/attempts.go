package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// inAttempts reports whether the next process is an operator, which takes one
// attempt at a time: every second one is. What holds for the one driver has to
// hold for the other, and for both alternately.
func (p *person) inAttempts() bool {
	p.processes++
	return p.processes%2 == 0
}

// takeAttempts carries out a request, or what is in flight, as a reconciler does.
func takeAttempts(ctx context.Context, r *runner.Runner, name string, req *planner.Request, back bool) error {
	s, err := r.Open(ctx, Namespace, name, req, func(*v1alpha1.Operation) (bool, error) { return back, nil })
	if err != nil {
		return err
	}
	for {
		done, again, err := s.Next(ctx)
		if done || err != nil {
			return errors.Join(err, s.Close(ctx))
		}
		timer := time.NewTimer(again)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}
