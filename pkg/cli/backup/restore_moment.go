package backup

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// judgeMoment refuses a moment that the backup and the archived log don't cover, before anything is touched.
func (f *restoreFlags) judgeMoment(ctx context.Context, e engine.Engine, r repository.Repository,
	m repository.Manifest) error {
	if f.toTime == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, f.toTime)
	if err != nil {
		return exit.Misuse("--to-time %q is no moment with its zone, such as 2026-11-23T20:15:00Z", f.toTime)
	}
	w, archived, err := (&windows{}).of(ctx, e, r, m)
	if err != nil {
		return err
	}
	if !archived {
		return &engine.Refusal{Check: "log", Reason: "no log is archived beside backup " + m.ID,
			Hint: "leave --to-time out"}
	}
	if at.Before(m.FinishedAt) || at.After(w.To) {
		return outside(m, w, at)
	}
	f.toTime, f.timeline = at.UTC().Format("2006-01-02T15:04:05.999999Z"), w.Timeline
	return nil
}

// outside says which moments there are.
func outside(m repository.Manifest, w engine.LogWindow, at time.Time) error {
	text := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	why := fmt.Sprintf("%s is outside of what backup %s and the log cover: from %s to %s", text(at), m.ID,
		text(m.FinishedAt), text(w.To))
	if w.To.Before(m.FinishedAt) {
		why = fmt.Sprintf("no log is archived that goes on from backup %s", m.ID)
	}
	if w.Gap != "" {
		why += "; " + w.Gap + " is missing in the archive"
	}
	return &engine.Refusal{Check: "log", Reason: why, Hint: "choose another moment, or another backup with --from"}
}
