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
	latest := f.toTime == engine.LatestMoment
	at, err := time.Parse(time.RFC3339Nano, f.toTime)
	if err != nil && !latest {
		return exit.Misuse("--to-time %q is no moment with its zone, such as 2026-11-23T20:15:00Z, and not latest", f.toTime)
	}
	w, archived, err := (&windows{}).of(ctx, e, r, m)
	if err != nil {
		return err
	}
	if !archived {
		return &engine.Refusal{Check: "log", Reason: "no log is archived beside backup " + m.ID,
			Hint: "leave --to-time out"}
	}
	f.timeline = w.Timeline
	if latest && (w.Gap != "" || w.To.Before(m.FinishedAt)) {
		return outside(m, w, f.toTime)
	}
	if latest {
		return nil
	}
	// Whether nothing else was committed at the last moment is not known, so the server would refuse it.
	if at.Before(m.FinishedAt) || !at.Before(w.To) {
		return outside(m, w, at.UTC().Format(time.RFC3339))
	}
	f.toTime = at.UTC().Format("2006-01-02T15:04:05.999999Z")
	return nil
}

// outside says which moments there are.
func outside(m repository.Manifest, w engine.LogWindow, moment string) error {
	text := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	why := fmt.Sprintf("%s is outside of what backup %s and the log cover: from %s to before %s", moment, m.ID,
		text(m.FinishedAt), text(w.To))
	if w.To.Before(m.FinishedAt) {
		why = fmt.Sprintf("no log is archived that goes on from backup %s", m.ID)
	}
	if w.Gap != "" {
		why += "; " + w.Gap + " is missing in the archive"
	}
	hint := "choose another moment, or another backup with --from"
	if w.Gap == "" && moment != engine.LatestMoment {
		hint += "; --to-time latest takes all of the log"
	}
	return &engine.Refusal{Check: "log", Reason: why, Hint: hint}
}
