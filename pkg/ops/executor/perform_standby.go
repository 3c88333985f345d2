package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

const (
	// standbyWithin is how long a converter may take to start next to its member.
	standbyWithin = time.Minute
	// askWithin bounds one attempt to tell it to begin.
	askWithin = 2 * time.Second
)

// standBy starts the pod that is to convert the data of a member while that member serves, and returns once the pod
// waits. Where none can run next to the member the fact says why: then one is started after the stop, which takes
// longer.
func (l *Executor) standBy(ctx context.Context, t task) (ops.Result, error) {
	name := ops.Converter(t.Member())
	for _, h := range t.Kube.Helpers {
		switch {
		case h.Name != name:
		case h.Running:
			return fact(v1alpha1.FactConverter, name)
		case h.Terminating || !h.Failed && !h.Done && t.Now.Sub(h.Created) < standbyWithin:
			return ops.Result{}, fmt.Errorf("helper pod %s is starting: %w", name, engine.ErrNotReady)
		default:
			if err := helperpod.Delete(ctx, l.Client, l.Namespace, name); err != nil {
				return ops.Result{}, fmt.Errorf("remove helper pod %s: %w", name, err)
			}
			return fact(v1alpha1.FactConverter, "none: "+whyNot(h))
		}
	}
	if err := l.createConverter(ctx, t, t.Kube.Member(t.Member()).Pod.Node, true); err != nil {
		return ops.Result{}, fmt.Errorf("start helper pod %s: %w", name, err)
	}
	return ops.Result{}, fmt.Errorf("helper pod %s is starting: %w", name, engine.ErrNotReady)
}

// whyNot says why a pod does not run.
func whyNot(h observe.Helper) string {
	if h.Message == "" && h.Problem != nil {
		return h.Problem.Message
	}
	return cmp.Or(h.Message, "it did not start in "+standbyWithin.String())
}

// standsBy reports whether the pod that converts the data was started before the stop.
func (l *Executor) standsBy(t task) bool {
	return t.Fact(v1alpha1.FactConverter) == ops.Converter(t.Member())
}

// converting tells a pod that waits to begin, for as long as it is at work: an answer may have been lost. One that
// works for another incarnation is ended, as its end would be taken for that of this one.
func (l *Executor) converting(ctx context.Context, t task, h observe.Helper, waits bool) error {
	if waits && h.Running {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		err := helper.Ask(ctx, func(ctx context.Context) (net.Conn, error) {
			return l.Dialer.DialLoopback(ctx, l.Namespace, h.Name, loadPort)
		}, t.Bootstrap().Token)
		if errors.Is(err, helper.ErrLoading) {
			return errors.Join(fmt.Errorf("pod %s is going: %w: %w", h.Name, err, engine.ErrNotReady), l.dismiss(ctx, t))
		}
		if err != nil {
			return fmt.Errorf("pod %s does not say whether it converts the data: %w: %w", h.Name, err, engine.ErrNotReady)
		}
	}
	return fmt.Errorf("pod %s is converting the data: %w", h.Name, engine.ErrNotReady)
}

// dismiss ends the pod that waits to convert the data of a member.
func (l *Executor) dismiss(ctx context.Context, t task) error {
	name := ops.Converter(t.Member())
	if err := helperpod.Delete(ctx, l.Client, l.Namespace, name); err != nil {
		return fmt.Errorf("remove helper pod %s: %w", name, err)
	}
	return nil
}
