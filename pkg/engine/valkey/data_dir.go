package valkey

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

var _ engine.DataRecoverer = (*Engine)(nil)

// InspectDataDir implements engine.DataRecoverer: the agent wrote down where the data ends. Without a stop in order it
// may reach further.
func (*Engine) InspectDataDir(dir string) engine.DataDirInfo {
	found, err := datadir.Inspect(dir)
	if err != nil {
		return engine.DataDirInfo{Problem: err.Error()}
	}
	end := agreed.DataEnd{System: found.System, Timeline: found.At.Timeline, Offset: found.At.Offset,
		AtLeast: found.End == nil}
	before := uint64(1)
	for _, b := range found.Lineage {
		if b.Begin < end.Offset {
			end.Forks = append(end.Forks, agreed.Fork{Timeline: before, End: b.Begin})
		}
		before = b.Timeline
	}
	out := engine.DataDirInfo{Intact: true, Position: end.Encode(), Bytes: found.Bytes,
		Summary: fmt.Sprintf("it ends at %d on timeline %d", end.Offset, end.Timeline)}
	if end.AtLeast {
		out.Summary = fmt.Sprintf("it was not stopped in order; it reaches at least to %d on timeline %d", end.Offset,
			end.Timeline)
	}
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
