package helper

import (
	"context"
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Streamed is what a backup that was streamed leaves for later ones.
type Streamed struct {
	session engine.Session
	base    engine.Base
}

// Stream has a member stream all of its data or, with a parent, what changed since that full backup, as
// engine.Session's Snapshot does. After an error what was written is worthless. A member that sends nothing for long is
// given up: repository.ErrStandstill.
func Stream(ctx context.Context, e engine.Engine, s engine.Session, from, parent string, w io.Writer,
	report func(int64)) (Streamed, error) {
	ctx, watch := repository.WatchStandstill(ctx, repository.StandstillAfter)
	moving := repository.Counter{Report: func(int64) { watch.Moved() }}
	out, err := stream(ctx, e, s, from, parent, moving.Writer(w), report)
	return out, watch.End(err)
}

func stream(ctx context.Context, e engine.Engine, s engine.Session, from, parent string, w io.Writer,
	report func(int64)) (Streamed, error) {
	if parent != "" {
		i, ok := s.(engine.Incrementer)
		if !ok {
			return Streamed{}, fmt.Errorf("stream what changed since backup %s: %s can't do that", parent, e.Name())
		}
		return Streamed{}, i.Increment(ctx, from, parent, w, report)
	}
	out := Streamed{session: s}
	if i, ok := e.(engine.Incremental); ok {
		out.base = i.NewBase()
		w = io.MultiWriter(w, out.base)
	}
	return out, s.Snapshot(ctx, from, w, report)
}

// Keep has the members keep what incremental backups on the full one take, once that is complete. It does what it can:
// where it fails no incremental backup is taken on it, and who asks for one is told.
func (s Streamed) Keep(ctx context.Context, members []string, backup, repository string) {
	i, ok := s.session.(engine.Incrementer)
	if !ok || s.base == nil {
		return
	}
	if content := s.base.Content(); content != nil {
		_, _ = i.KeepBase(ctx, members, engine.BaseOf{Backup: backup, Repository: repository}, content)
	}
}
