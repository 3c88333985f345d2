package helper

import (
	"context"
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Waits begins a line of a pod's log that says what it waits for. A later line without it says that it goes on.
const Waits = "waiting: "

// TellOutages has a helper write into its log that the object store does not answer, and since when.
func TellOutages(ctx context.Context, log io.Writer) context.Context {
	return store.OnOutage(ctx, func(o store.Outage) {
		begins := ""
		if o.Err != nil {
			begins = Waits
		}
		_, _ = fmt.Fprintln(log, begins+o.String())
	})
}
