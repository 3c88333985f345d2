package etcd

// floor is the oldest version fit for something, and why.
type floor struct {
	at           version
	reason, link string
}

// The series that this package renders flags for.
var (
	oldestLine = line{3, 5}
	newestLine = line{3, 7}
)

// createFloor is the oldest version to make a cluster of.
var createFloor = floor{
	at:     version{3, 5, 6},
	reason: "older 3.5 patches lose or corrupt data: inconsistent after a crash up to 3.5.2, lost writes of a single member up to 3.5.4, a crash in defragmentation corrupts up to 3.5.5",
	link:   "https://github.com/etcd-io/etcd/issues/13766, /14370, /14685",
}

// restoreFloor is the oldest version to load a backup with.
var restoreFloor = floor{
	at:     version{3, 5, 10},
	reason: "etcdutl snapshot restore can raise the revision (--bump-revision) from 3.5.10 on only",
	link:   "https://github.com/etcd-io/etcd/pull/16029",
}

// livezFloor is the oldest version that answers /livez and /readyz.
var livezFloor = version{3, 5, 11}

// step is an allowed change of series: one minor at a time,
// https://etcd.io/docs/v3.6/upgrades/.
type step struct {
	from           line
	source, target floor
}

var steps = []step{
	{
		from: line{3, 5},
		source: floor{
			at:     version{3, 5, 32},
			reason: "before it voters may come up as learners after the step, removed members may return, and old v2 data is not checked",
			link:   "https://github.com/etcd-io/etcd/issues/19557, /20793, /20967",
		},
		target: floor{
			at:     version{3, 6, 5},
			reason: "earlier 3.6 patches can panic on promotion, fail to bootstrap, or corrupt a member that catches up during defragmentation",
			link:   "https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.6.md",
		},
	},
	{
		from: line{3, 6},
		source: floor{
			at:     version{3, 6, 11},
			reason: "3.7 no longer reads what older 3.6 patches keep in the v2 store",
			link:   "https://etcd.io/docs/v3.7/upgrades/upgrade_3_7/",
		},
		target: floor{
			at:     version{3, 7, 0},
			reason: "it is the first release",
			link:   "https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.7.md",
		},
	},
}

// stepFrom returns the step that leaves a series.
func stepFrom(from line) (step, bool) {
	for _, s := range steps {
		if s.from == from {
			return s, true
		}
	}
	return step{}, false
}
