package versions

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
)

// Floor is the oldest version fit for something, and why.
type Floor struct {
	At           Version
	Reason, Link string
}

// The series that this package renders flags for.
var (
	OldestLine = Line{3, 5}
	NewestLine = Line{3, 7}
)

// CreateFloor is the oldest version to make a cluster of.
var CreateFloor = Floor{
	At: Version{3, 5, 6},
	Reason: "older 3.5 patches lose or corrupt data: inconsistent after a crash up to 3.5.2, lost writes of a single " +
		"member up to 3.5.4, a crash in defragmentation corrupts up to 3.5.5",
	Link: "https://github.com/etcd-io/etcd/issues/13766, /14370, /14685",
}

// RestoreFloor is the oldest version to load a backup with.
var RestoreFloor = Floor{
	At:     Version{3, 5, 10},
	Reason: "etcdutl snapshot restore can raise the revision (--bump-revision) from 3.5.10 on only",
	Link:   "https://github.com/etcd-io/etcd/pull/16029",
}

// LivezFloor is the oldest version that answers /livez and /readyz.
var LivezFloor = Version{3, 5, 11}

// step is an allowed change of series: one minor at a time,
// https://etcd.io/docs/v3.6/upgrades/.
type step struct {
	From           Line
	Source, Target Floor
}

var Steps = []step{
	{
		From: Line{3, 5},
		Source: Floor{
			At: Version{3, 5, 32},
			Reason: "before it voters may come up as learners after the step, removed members may return, and old v2 " +
				"data is not checked",
			Link: "https://github.com/etcd-io/etcd/issues/19557, /20793, /20967",
		},
		Target: Floor{
			At: Version{3, 6, 5},
			Reason: "earlier 3.6 patches can panic on promotion, fail to bootstrap, or corrupt a member that catches up " +
				"during defragmentation",
			Link: "https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.6.md",
		},
	},
	{
		From: Line{3, 6},
		Source: Floor{
			At:     Version{3, 6, 11},
			Reason: "3.7 no longer reads what older 3.6 patches keep in the v2 store",
			Link:   "https://etcd.io/docs/v3.7/upgrades/upgrade_3_7/",
		},
		Target: Floor{
			At:     Version{3, 7, 0},
			Reason: "it is the first release",
			Link:   "https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.7.md",
		},
	},
}

// StepFrom returns the step that leaves a series.
func StepFrom(from Line) (step, bool) {
	for _, s := range Steps {
		if s.From == from {
			return s, true
		}
	}
	return step{}, false
}

// SchemaLine is the first series that writes the version of its storage.
var SchemaLine = Line{3, 6}

// LearnersLine is the first series that can be told how many learners a cluster may have.
var LearnersLine = Line{3, 6}

// V2FreeLine is the first series that cannot read log entries in the format
// of the v2 store.
var V2FreeLine = Line{3, 7}

// Supported parses a version and refuses a series whose flags this package does not know.
func Supported(s string) (Version, error) {
	v, err := Parse(s)
	if err != nil {
		return Version{}, refusal.UnknownVersion("give a full version such as "+Default, "%v", err)
	}
	if v.Line().Less(OldestLine) || NewestLine.Less(v.Line()) {
		return Version{}, refusal.UnknownVersion(fmt.Sprintf("choose a version from %s to %s", OldestLine, NewestLine),
			"etcd %s is not supported", v.Line())
	}
	return v, nil
}

// Default is the one that create takes.
const Default = "3.6.16"
