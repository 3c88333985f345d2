package executor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// TestWaitsFor: who waits for a Job is told what its pod waits for, and its log is not read at each observation.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := kubetest.New(t, interceptor.Funcs{})
		asked, line, failed := 0, "", error(nil)
		l := New(Config{Client: c, Namespace: "shop", Name: "db",
			LastLine: func(_ context.Context, pod, container string) (string, error) {
				asked++
				return line + pod + container, failed
			}})
		defer func() { _ = l.Close() }()
		for _, row := range []struct {
			line, want string
			failed     error
			after      time.Duration
			asked      int
		}{
			{line: "try 1 failed ", asked: 1},
			{line: "waiting: the store\x1b of ", asked: 1, after: time.Second},
			{line: "waiting: the store\x1b of ", want: "; the store? of podbackup", asked: 2, after: 10 * time.Second},
			{line: "it answers again ", want: "; the store? of podbackup", asked: 2, after: time.Second},
			{line: "it answers again ", asked: 3, after: 10 * time.Second},
			{line: "waiting: ", failed: errors.New("forbidden"), asked: 4, after: 10 * time.Second},
		} {
			time.Sleep(row.after)
			line, failed = row.line, row.failed
			if got := l.waitsFor(t.Context(), "pod", "backup"); got != row.want || asked != row.asked {
				t.Errorf("after %q: %q, asked %d times, want %q, %d", row.line, got, asked, row.want, row.asked)
			}
		}
	})
}
