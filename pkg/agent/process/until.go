//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// poll is how often a condition is asked for.
const poll = 20 * time.Millisecond

// Until polls a condition while this run of the server goes on. Its error says what was waited for, and what the last
// answer was if there was none.
func (p *Process) Until(ctx context.Context, what string, holds func(context.Context) (bool, error)) error {
	for {
		held, last := holds(ctx)
		if last == nil && held {
			return nil
		}
		select {
		case <-p.Done:
			return fmt.Errorf("%s: the server ended: %s", what, p.Tail())
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, errors.Join(ctx.Err(), last))
		case <-time.After(poll):
		}
	}
}
