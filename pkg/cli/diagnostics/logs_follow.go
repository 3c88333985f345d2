package diagnostics

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// followEvery is the pause between two lists of the pods whose log is not being read.
const followEvery = time.Second

// followLogs prints the logs of all members until it is interrupted. A pod
// whose stream ends is read again once its container runs, from the last line on.
func followLogs(ctx context.Context, f *command.Factory, m *merger, t *clients.Target,
	found []corev1.Pod, o corev1.PodLogOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var streams sync.WaitGroup
	reading, told := map[string]bool{}, map[string]bool{}
	defer streams.Wait()
	read := func(p corev1.Pod, first bool) {
		from := o
		if last := m.newest(p.Name); !last.IsZero() {
			from.SinceTime, from.SinceSeconds, from.TailLines = &metav1.Time{Time: last}, nil, nil
		} else if !first {
			from.SinceSeconds, from.TailLines = nil, nil
		}
		err := m.read(ctx, f, p, from)
		mu.Lock()
		defer mu.Unlock()
		reading[p.Name] = false
		switch w, closed := errors.AsType[*writeError](err); {
		case err == nil || ctx.Err() != nil:
		case closed:
			cancel(w)
		case !told[err.Error()]:
			told[err.Error()] = true
			f.Note("%v; trying again", err)
		}
	}
	for first := true; ; first = false {
		mu.Lock()
		for _, p := range found {
			if !reading[p.Name] && p.Status.Phase == corev1.PodRunning {
				reading[p.Name] = true
				streams.Go(func() { read(p, first) })
			}
		}
		mu.Unlock()
		timer := time.NewTimer(followEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			if w, ok := errors.AsType[*writeError](context.Cause(ctx)); ok {
				return w
			}
			return exit.Outcome(exit.Interrupted)
		}
		// An API server that is away for a moment ends nothing.
		if now, err := f.Clients.Pods(ctx, t.Namespace,
			v1alpha1.LabelCluster+"="+t.Cluster.Name+","+v1alpha1.LabelMember); err == nil {
			found = now
		}
	}
}

// newest is the time of the last line that was printed of a pod.
func (m *merger) newest(pod string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last[pod]
}

// writeError says that nobody reads what is printed any more.
type writeError struct{ error }
