package bucket

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// LogFiles describes the segments of an archived log as an engine reads them.
func LogFiles(all []archive.Segment) []engine.LogFile {
	files := make([]engine.LogFile, len(all))
	for i, s := range all {
		files[i] = engine.LogFile{Timeline: s.Timeline, Name: s.Name, Start: s.Start, End: s.End, Time: s.Time}
	}
	return files
}
