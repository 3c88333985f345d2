package operator

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// hinderedFor is how long what is wanted is left alone once it could not begin beside a backup.
const hinderedFor = 10 * time.Second

// hindered notes that what is wanted could not begin while a backup is in flight: it does not keep the backup from going
// on. Err is why, if it is not that somebody else acts.
func (v *reconciliation) hindered(ctx context.Context, err error) bool {
	if v.charge.Beside == nil || v.tracker.session != nil || ctx.Err() != nil || err == nil && v.report.holder == "" {
		return false
	}
	if err != nil {
		v.report.busy(err)
	}
	v.tracker.hindered = time.Now().Add(hinderedFor)
	return true
}

// beside carries on with the backup in flight, by one attempt, and has mended meanwhile what can be beside it. Another
// process may take the backup: that keeps nothing else.
func (v *reconciliation) beside(ctx context.Context) (time.Duration, error) {
	why := v.report.holder
	var again time.Duration
	var err error
	if v.tracker.session != nil {
		again, err = v.attempt(ctx)
	} else {
		again, err = v.open(ctx, nil)
	}
	if why != "" {
		v.report.holder = why // what is wanted says more than who takes the backup
	}
	if err != nil || v.over || time.Since(v.tracker.looked) < sickEvery {
		return again, err
	}
	later, err := v.look(ctx, true)
	return min(again, later), err
}

// withBackup is a state that was observed outside of any operation, with the backup in flight, for status.
func (v *reconciliation) withBackup(s ops.State) ops.State {
	if s.Operation == nil {
		s.Operation = v.charge.Beside
	}
	return s
}

// why is what the operation in the works waits for.
func (v *reconciliation) why() string {
	if v.tracker.session == nil {
		return ""
	}
	return v.tracker.session.Why()
}
