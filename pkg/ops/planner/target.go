package planner

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// logs are repositories that hold archived logs beside backups.
type logs interface {
	Log(namespace, cluster, token string) *archive.Log
}

// Windows says how far backups can be brought by archived logs. It lists each log once.
type Windows struct {
	read map[[3]string][]engine.LogFile
}

// Of is false for a backup beside which no log can be.
func (w *Windows) Of(ctx context.Context, e engine.Engine, r repository.Repository,
	m repository.Manifest) (engine.LogWindow, bool, error) {
	a, archives := e.(engine.LogArchiver)
	from, has := r.(logs)
	if !archives || !has {
		return engine.LogWindow{}, false, nil
	}
	key := [3]string{m.Namespace, m.Cluster, m.Incarnation}
	files, listed := w.read[key]
	if !listed {
		all, err := from.Log(m.Namespace, m.Cluster, m.Incarnation).Segments(ctx)
		if err != nil {
			return engine.LogWindow{}, false, err
		}
		for _, s := range all {
			files = append(files, engine.LogFile{Timeline: s.Timeline, Name: s.Name, Start: s.Start, End: s.End, Time: s.Time})
		}
		if w.read == nil {
			w.read = map[[3]string][]engine.LogFile{}
		}
		w.read[key] = files
	}
	return a.LogWindow(m.Facts, files), true, nil
}

// Resolve returns a target as a restore takes it, with the timeline that is followed. It refuses one that the backup
// and the archived log don't cover, before anything is touched. Whether the log has a name or a transaction shows when
// it is used.
func (w *Windows) Resolve(ctx context.Context, e engine.Engine, r repository.Repository, m repository.Manifest,
	t v1alpha1.RecoveryTarget) (v1alpha1.RecoveryTarget, error) {
	if !t.Set() {
		return t, nil
	}
	log, archived, err := w.Of(ctx, e, r, m)
	if err != nil {
		return t, err
	}
	a, archives := e.(engine.LogArchiver)
	if !archived || !archives {
		return t, &engine.Refusal{Check: "log", Reason: "no log is archived beside backup " + m.ID,
			Hint: "leave the target out"}
	}
	if t.Timeline == "" {
		t.Timeline = log.Timeline
	}
	if t, err = a.CheckTarget(log, t); err != nil {
		return t, err
	}
	if t.Time != "" {
		return checkTime(m, log, t)
	}
	if log.End == "" {
		return t, outside(m, log, t)
	}
	return t, nil
}

// checkTime refuses a moment that is not covered.
func checkTime(m repository.Manifest, w engine.LogWindow, t v1alpha1.RecoveryTarget) (v1alpha1.RecoveryTarget, error) {
	if t.Time == v1alpha1.TargetLatest {
		if w.Gap != "" || w.To.Before(m.FinishedAt) {
			return t, outside(m, w, t)
		}
		return t, nil
	}
	at, err := time.Parse(time.RFC3339Nano, t.Time)
	if err != nil {
		return t, &engine.Refusal{Check: "target", Reason: t.Time + " is no moment with its zone, and not latest",
			Hint: "write it like 2026-11-23T20:15:00Z"}
	}
	t.Time = at.UTC().Format("2006-01-02T15:04:05.999999Z")
	// Whether nothing else was committed at the last moment is not known, so the server would refuse it.
	if at.Before(m.FinishedAt) || !at.Before(w.To) {
		return t, outside(m, w, t)
	}
	return t, nil
}

// outside says which moments there are.
func outside(m repository.Manifest, w engine.LogWindow, t v1alpha1.RecoveryTarget) error {
	text := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	why := fmt.Sprintf("%s is outside of what backup %s and the log cover: from %s to before %s", t, m.ID,
		text(m.FinishedAt), text(w.To))
	if w.To.Before(m.FinishedAt) {
		why = "no log is archived that goes on from backup " + m.ID
	}
	if w.Gap != "" {
		why += "; " + w.Gap + " is missing in the archive"
	}
	hint := "choose another moment, or another backup with --from"
	if w.Gap == "" && t.Time != v1alpha1.TargetLatest {
		hint += "; --to-time latest takes all of the log"
	}
	return &engine.Refusal{Check: "log", Reason: why, Hint: hint}
}
