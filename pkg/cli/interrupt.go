package cli

import (
	"context"
	"os"
	"sync"
)

// interruption turns signals into the end of a command. The first one ends it
// gently where the running command knows how, the next one at once.
type interruption struct {
	mu     sync.Mutex
	gentle func()
	cancel context.CancelCauseFunc
}

// watch follows the signals until the context ends.
func (i *interruption) watch(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
			i.signal()
		case <-ctx.Done():
			return
		}
	}
}

func (i *interruption) signal() {
	i.mu.Lock()
	gentle := i.gentle
	i.gentle = nil
	i.mu.Unlock()
	if gentle != nil {
		gentle()
		return
	}
	i.cancel(errInterrupted)
}

// gently installs what the next signal calls instead of ending everything.
// The returned function takes it back.
func (i *interruption) gently(stop func()) func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.gentle = stop
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.gentle = nil
	}
}
