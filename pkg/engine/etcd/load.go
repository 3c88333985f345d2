package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/pod"
)

// revisionBump lifts the revision of restored data above any that a client
// can have seen: at 1000 writes a second it lasts eleven days of writes after
// the backup, https://etcd.io/docs/v3.6/op-guide/recovery/#restoring-with-revision-bump.
const revisionBump = "1000000000"

// raiseFlag is followed by how far the revision is raised; 3.5.10 knows it first.
const raiseFlag = "--bump-revision"

// LoadCommand implements engine.Snapshotter. etcdutl refuses a data directory
// that is not empty, and one of the two revision flags without the other. It
// need not read all bytes once more for the checksum at their end: that was
// compared when the backup was taken, and who loads compares every byte with
// what was stored then.
func (*Engine) LoadCommand(in engine.LoadInput) []string {
	u := addresses.PeerURL(in.Cluster, in.Member)
	argv := []string{
		pod.Binaries + "etcdutl", "snapshot", "restore", in.File,
		"--name", in.Member,
		"--initial-cluster", in.Member + "=" + u,
		"--initial-cluster-token", in.Token,
		"--initial-advertise-peer-urls", u,
		"--data-dir", in.DataDir,
		"--skip-hash-check",
	}
	if in.KeepRevision {
		return argv
	}
	return append(argv, raiseFlag, revisionBump, "--mark-compacted")
}
