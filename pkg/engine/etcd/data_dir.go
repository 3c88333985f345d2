package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/pod"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/positions"
)

var _ engine.DataRecoverer = (*Engine)(nil)

// InspectDataDir implements engine.DataRecoverer. What is well of the rest is told even
// if a part is damaged: a log that can be read says how much would be lost.
func (*Engine) InspectDataDir(dir string) engine.DataDirInfo {
	r := engine.DataDirInfo{}
	end, err := datafile.ReadLog(filepath.Join(dir, "member", "wal"))
	if err == nil {
		r.MemberID, r.ClusterID = client.HexID(end.Member), client.HexID(end.Cluster)
		r.Position = positions.Position{Cluster: r.ClusterID, Term: end.Term, Applied: end.Index}.Encode()
		r.Summary = fmt.Sprintf("log ends at term %d, index %d; known to be decided: %d", end.Term, end.Index, end.Commit)
	}
	file := filepath.Join(dir, "member", "snap", "db")
	found := datafile.NewContents()
	failed := found.Read(file)
	if failed == nil {
		facts, applied := found.Facts, found.Applied
		r.Readings = facts.Readings
		if info, err := os.Stat(file); err == nil {
			r.Bytes = info.Size()
		}
		if err == nil {
			r.Position = positions.Position{Cluster: r.ClusterID, Term: end.Term, Applied: end.Index,
				Revision: found.Latest}.Encode()
			r.Summary += fmt.Sprintf("; applied: %d, revision %d, %d keys", applied, found.Latest, found.Sum.Keys)
		}
		if err == nil && applied > end.Index {
			failed = fmt.Errorf("its database has applied %d entries, its log ends at %d", applied, end.Index)
		}
	}
	if err = errors.Join(err, failed); err != nil {
		r.Problem = err.Error()
	}
	r.Intact = err == nil
	return r
}

// CompareDataDirs implements engine.DataRecoverer: the later term of the last entry
// first, then the longer log, as raft elects (section 5.4.1). A revision says
// nothing: it may count entries that a majority never had.
func (*Engine) CompareDataDirs(a, b engine.Position) (int, bool) {
	pa, okA := positions.Parse(a)
	pb, okB := positions.Parse(b)
	if !okA || !okB || pa.Cluster != pb.Cluster {
		return 0, false
	}
	return cmp.Or(cmp.Compare(pa.Term, pb.Term), cmp.Compare(pa.Applied, pb.Applied)), true
}

// DataDirLag implements engine.DataRecoverer.
func (*Engine) DataDirLag(gap engine.Gap) string {
	first, okF := positions.Parse(gap.Leader)
	other, okO := positions.Parse(gap.Member)
	switch {
	case !okF || !okO || first.Cluster != other.Cluster:
		return "how far they are apart is not known"
	case first.Term == other.Term && first.Applied >= other.Applied:
		return fmt.Sprintf("%d log entries behind", first.Applied-other.Applied)
	}
	return fmt.Sprintf("last entry of term %d rather than %d, index %d rather than %d", other.Term, first.Term,
		other.Applied, first.Applied)
}

// SameDatabase implements engine.DataRecoverer.
func (*Engine) SameDatabase(found, recorded string) bool { return found == recorded }

// RecoveryNotice implements engine.DataRecoverer.
func (*Engine) RecoveryNotice() string {
	return "leases start again, and watchers must list again: revisions are raised"
}

// RecoveryPod implements engine.DataRecoverer. The flag drops every other member
// from the data, and is never given to data that is not a copy: etcd's
// maintainers call it unsafe (github.com/etcd-io/etcd/pull/9177).
func (e *Engine) RecoveryPod(in engine.PodInput) (engine.Pod, error) {
	in.Loopback, in.Bootstrap = true, false
	in.JoinLimit = pod.Learners // or data in which two members were joining would not start
	recovery, err := e.Pod(in)
	if err != nil {
		return engine.Pod{}, err
	}
	recovery.Container.Args = append(recovery.Container.Args, "--force-new-cluster=true")
	return recovery, nil
}
