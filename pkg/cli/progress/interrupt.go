package progress

import (
	"context"
	"os"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// Interruption ends a command on signals. The first one ends it
// gently where the running command knows how, the next one at once.
type Interruption struct {
	mu     sync.Mutex
	gentle func()
	Cancel context.CancelCauseFunc
}

// Watch follows the signals until the context ends.
func (i *Interruption) Watch(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
			i.signal()
		case <-ctx.Done():
			return
		}
	}
}

func (i *Interruption) signal() {
	i.mu.Lock()
	gentle := i.gentle
	i.gentle = nil
	i.mu.Unlock()
	if gentle != nil {
		gentle()
		return
	}
	i.Cancel(exit.ErrInterrupted)
}

// Gently installs what the next signal calls instead of ending everything.
// The returned function takes it back.
func (i *Interruption) Gently(stop func()) func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.gentle = stop
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.gentle = nil
	}
}
