package harness

import (
	"context"
	"fmt"
	"os/exec"
)

// Stall has a volume answer no write, as a disk does that hangs. The function it returns lets it go on; a repeat does
// no harm. As long as it hangs, who writes to it waits, the caller too.
func Stall(ctx context.Context, volume string) (func(), error) {
	freeze := func(ctx context.Context, way string) error {
		out, err := exec.CommandContext(ctx, "fsfreeze", way, volume).CombinedOutput() // #nosec G204 -- a test's own volume
		if err != nil {
			return fmt.Errorf("fsfreeze %s %s: %w: %s", way, volume, err, out)
		}
		return nil
	}
	if err := freeze(ctx, "--freeze"); err != nil {
		return nil, err
	}
	return func() { _ = freeze(context.WithoutCancel(ctx), "--unfreeze") }, nil
}
