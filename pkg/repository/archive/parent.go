package archive

import (
	"context"
	"fmt"
)

// parentOf fails with ErrNotFound unless the backup is there that one adds to, of the same cluster, and is a full one.
func (a *Archive) parentOf(ctx context.Context, m *Manifest) error {
	if m.Parent == "" {
		return nil
	}
	c, err := a.manifests(ctx, m.Scope)
	if err != nil {
		return err
	}
	for _, e := range c.Entries {
		if e.Attempt == m.Parent && e.Parent == "" {
			return nil
		}
	}
	return fmt.Errorf("%w: it adds to attempt %s, which is no full backup here", ErrNotFound, m.Parent)
}
