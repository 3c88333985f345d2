package postgres

import (
	"fmt"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

var _ engine.DataRecoverer = (*Engine)(nil)

// InspectDataDir implements engine.DataRecoverer: it reads the log from the last checkpoint to its end.
func (*Engine) InspectDataDir(dir string) engine.DataDirInfo {
	found, err := datadir.Inspect(dir)
	if err != nil {
		return engine.DataDirInfo{Problem: err.Error()}
	}
	end := agreed.DataEnd{System: found.System, Timeline: found.Lineage.At(found.End), Offset: uint64(found.End)}
	for _, f := range found.Lineage.Forks {
		if f.End < found.End {
			end.Forks = append(end.Forks, agreed.Fork{Timeline: f.Timeline, End: uint64(f.End)})
		}
	}
	out := engine.DataDirInfo{Intact: true, Position: end.Encode(), Bytes: found.Bytes, InOrder: found.InOrder,
		Summary: fmt.Sprintf("version %s, the log ends at %s on timeline %d", found.Major, found.End, end.Timeline)}
	if found.InOrder {
		out.Summary += ", as a primary that was stopped in order"
	}
	out.Readings = []engine.Reading{{Name: "timeline", Value: strconv.FormatUint(end.Timeline, 10)},
		{Name: "lsn", Value: found.End.String()}}
	if agreed.Agreed(dir) {
		out.ClusterID = found.System
	}
	return out
}

// RecoveryPod implements engine.DataRecoverer. A throw-away member founds a group of its own, and takes the data that
// it finds for the database of that.
func (e *Engine) RecoveryPod(in engine.PodInput) (engine.Pod, error) {
	in.Loopback, in.Bootstrap = true, true
	return e.Pod(in)
}
