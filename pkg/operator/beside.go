package operator

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// hinderedFor is how long what is wanted is left alone once it could not begin beside a backup.
const hinderedFor = 10 * time.Second

// hindrance is why what is wanted can't begin beside the backup in flight, and until when it is left alone.
type hindrance struct {
	why   string
	until time.Time
}

// hindered notes that what is wanted could not begin while a backup is in flight: it does not keep the backup from
// going on. Err is why, if it is not that somebody else acts.
func (v *reconciliation) hindered(ctx context.Context, err error) bool {
	if v.charge.Backup == nil || v.tracker.session != nil || ctx.Err() != nil || err == nil && v.report.holder == "" {
		return false
	}
	if err != nil {
		v.report.busy(err)
	}
	v.tracker.hindrance = hindrance{why: v.report.holder, until: time.Now().Add(hinderedFor)}
	return true
}

// backUp carries on with the backup in flight, by one attempt, and has mended meanwhile what can be beside it. Another
// process may take the backup: that keeps nothing else.
func (v *reconciliation) backUp(ctx context.Context) (again time.Duration, err error) {
	if v.tracker.session != nil {
		again, err = v.attempt(ctx)
	} else {
		again, err = v.open(ctx, nil)
	}
	if time.Now().Before(v.tracker.hindrance.until) {
		v.report.holder = v.tracker.hindrance.why // it says more than who takes the backup
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
		s.Operation = v.charge.Backup
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
