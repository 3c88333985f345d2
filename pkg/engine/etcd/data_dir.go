package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.DataRecoverer = (*Engine)(nil)

// InspectDataDir implements engine.DataRecoverer. What is well of the rest is told even
// if a part is damaged: a log that can be read says how much would be lost.
func (*Engine) InspectDataDir(dir string) engine.DataDirInfo {
	r := engine.DataDirInfo{}
	end, err := readLog(filepath.Join(dir, "member", "wal"))
	if err == nil {
		r.MemberID, r.ClusterID = hexID(end.member), hexID(end.cluster)
		r.Position = position{cluster: r.ClusterID, term: end.term, applied: end.index}.encode()
		r.Summary = fmt.Sprintf("log ends at term %d, index %d; known to be decided: %d", end.term, end.index, end.commit)
	}
	file := filepath.Join(dir, "member", "snap", "db")
	found := newContents()
	failed := found.read(file)
	if failed == nil {
		facts, applied := found.facts, found.applied
		r.Readings = facts.Readings
		if info, err := os.Stat(file); err == nil {
			r.Bytes = info.Size()
		}
		if err == nil {
			r.Position = position{cluster: r.ClusterID, term: end.term, applied: end.index, revision: found.latest}.encode()
			r.Summary += fmt.Sprintf("; applied: %d, revision %d, %d keys", applied, found.latest, found.sum.keys)
		}
		if err == nil && applied > end.index {
			failed = fmt.Errorf("its database has applied %d entries, its log ends at %d", applied, end.index)
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
	pa, okA := parsePosition(a)
	pb, okB := parsePosition(b)
	if !okA || !okB || pa.cluster != pb.cluster {
		return 0, false
	}
	return cmp.Or(cmp.Compare(pa.term, pb.term), cmp.Compare(pa.applied, pb.applied)), true
}

// DataDirLag implements engine.DataRecoverer.
func (*Engine) DataDirLag(gap engine.Gap) string {
	first, okF := parsePosition(gap.Leader)
	other, okO := parsePosition(gap.Member)
	switch {
	case !okF || !okO || first.cluster != other.cluster:
		return "how far they are apart is not known"
	case first.term == other.term && first.applied >= other.applied:
		return fmt.Sprintf("%d log entries behind", first.applied-other.applied)
	}
	return fmt.Sprintf("last entry of term %d rather than %d, index %d rather than %d", other.term, first.term, other.applied, first.applied)
}

// RecoveryPod implements engine.DataRecoverer. The flag drops every other member
// from the data, and is never given to data that is not a copy: etcd's
// maintainers call it unsafe (github.com/etcd-io/etcd/pull/9177).
func (e *Engine) RecoveryPod(in engine.PodInput) (engine.Pod, error) {
	in.Loopback, in.Bootstrap = true, false
	pod, err := e.Pod(in)
	if err != nil {
		return engine.Pod{}, err
	}
	pod.Container.Args = append(pod.Container.Args, "--force-new-cluster=true")
	return pod, nil
}
