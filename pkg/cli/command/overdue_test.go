package command

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func TestOverdue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		cut := fmt.Errorf("write down the operation: %w", kube.ErrTimeout)
		if err := overdue(ctx, cut); !errors.Is(err, kube.ErrTimeout) || ops.KindOf(err) == ops.TimedOut {
			t.Errorf("while there is time: %v", err)
		}
		<-ctx.Done()
		if err := overdue(ctx, cut); !errors.Is(err, kube.ErrTimeout) || ops.KindOf(err) != ops.TimedOut {
			t.Errorf("after it: %v", err)
		}
		for _, other := range []error{nil, kube.ErrConflict, &ops.Error{Kind: ops.Refused, Err: cut}} {
			if err := overdue(ctx, other); !errors.Is(err, other) || ops.KindOf(err) == ops.TimedOut {
				t.Errorf("after it, of another reason: %v", err)
			}
		}
	})
}
