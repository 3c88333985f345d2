package planner

import (
	"context"
	"errors"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// WholeBackup reads a backup to its end before anything is touched for its
// sake: a restore must not stop a database for data that can't replace it. What
// a pod reads by itself, out of an object store, is only counted: the pod
// compares every byte before the data takes its place. What is on a claim is
// read by the pod that serves it, which opened the data when it was kept.
func WholeBackup(ctx context.Context, r repository.Repository, m repository.Manifest, e engine.Engine) error {
	var err error
	if p, ok := r.(repository.Presence); ok && podsRead(r) {
		err = p.Present(ctx, m.ID)
	} else if err = repository.Check(ctx, r, m.ID, nil); errors.Is(err, errors.ErrUnsupported) {
		err = readWhole(ctx, r, m, e)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &ops.Error{Kind: ops.Refused, Check: "backup", Message: "backup " + m.ID +
		" can't be restored, nothing was touched",
		Hint: "choose another one: " + "kubectl dbop backup list --repository " + r.URL(), Err: err}
}

// podsRead reports whether pods read backups of a repository by themselves: those of one that has a name.
func podsRead(r repository.Repository) bool {
	at, err := ops.ParseRepository(r.URL())
	return err == nil && at.Kind == repository.KindNamed
}

func readWhole(ctx context.Context, r repository.Repository, m repository.Manifest, e engine.Engine) error {
	data, _, _, err := repository.Whole(ctx, r, m.ID)
	if err == nil {
		check := e.CheckStream()
		_, err = io.Copy(check, data)
		err = errors.Join(err, data.Close())
		if closed := check.Close(); err == nil {
			err = closed
		}
	}
	return err
}
