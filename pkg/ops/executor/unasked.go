package executor

import (
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// ReadAsAllowed has a world observe what may be read, also where members may
// not be asked: State.Unasked says why then.
func ReadAsAllowed(w ops.Cluster) {
	ReadAll(w)
	if l, ok := w.(*Executor); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.allowed = true
	}
}

// withoutRight notes why members were not asked, where that is for want of a
// right and the world observes without it.
func (l *Executor) withoutRight(s *ops.State, err error) error {
	f, _ := errors.AsType[*kube.ForbiddenError](err)
	if err == nil {
		f = l.denied.Load()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f == nil || !l.allowed {
		return err
	}
	s.View, s.Unasked = engine.View{}, f.Error()
	return nil
}
