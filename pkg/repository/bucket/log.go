package bucket

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// LogFiles lists an archived log as an engine reads it.
func LogFiles(ctx context.Context, log *archive.Log) ([]engine.LogFile, error) {
	all, err := log.Segments(ctx)
	files := make([]engine.LogFile, len(all))
	for i, s := range all {
		files[i] = engine.LogFile{Timeline: s.Timeline, Name: s.Name, Start: s.Start, End: s.End, Time: s.Time}
	}
	return files, err
}
