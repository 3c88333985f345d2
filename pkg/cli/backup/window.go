package backup

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// logs are repositories that hold archived logs beside backups.
type logs interface {
	Log(namespace, cluster, token string) *archive.Log
}

// windows says to which moments backups can be brought. It lists each log once.
type windows struct {
	read map[[3]string][]engine.LogFile
}

// of is false for a backup beside which no log can be.
func (w *windows) of(ctx context.Context, e engine.Engine, r repository.Repository,
	m repository.Manifest) (engine.LogWindow, bool, error) {
	a, archives := e.(engine.LogArchiver)
	from, has := r.(logs)
	if !archives || !has {
		return engine.LogWindow{}, false, nil
	}
	key := [3]string{m.Namespace, m.Cluster, m.Incarnation}
	files, listed := w.read[key]
	if !listed {
		var err error
		if files, err = bucket.LogFiles(ctx, from.Log(m.Namespace, m.Cluster, m.Incarnation)); err != nil {
			return engine.LogWindow{}, false, err
		}
		if w.read == nil {
			w.read = map[[3]string][]engine.LogFile{}
		}
		w.read[key] = files
	}
	return a.LogWindow(m.Facts, files), true, nil
}
