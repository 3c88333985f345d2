package helpercmd

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// TestUnproved: a Job ends at once where a repeat finds the same, and repeats the rest.
func TestUnproved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"intact":                 {nil, exit.Done},
		"damaged":                {repository.ErrDamaged, exit.NeedsHuman},
		"gone":                   {repository.ErrNotFound, exit.NeedsHuman},
		"of a newer version":     {repository.ErrFormat, exit.NeedsHuman},
		"the store is not there": {errors.New("connection refused"), exit.Failed},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("repository s3://backups/team: %w", err)
		}
		got := unproved("offsite", "my-db-20261123T101500Z-0a1b", err)
		if code := exit.Code(t.Context(), got); code != c.code {
			t.Errorf("%s: %v has the exit code %d, not %d", name, got, code, c.code)
		}
		if got != nil && !strings.Contains(got.Error(), c.err.Error()) {
			t.Errorf("%s: %v does not say %v", name, got, c.err)
		}
	}
}
