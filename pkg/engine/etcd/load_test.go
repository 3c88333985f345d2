package etcd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestLoadCommand(t *testing.T) {
	t.Parallel()
	in := engine.LoadInput{Cluster: cluster(), Member: "db-1", Token: "tok", File: "/data/x.db",
		DataDir: "/var/lib/etcd/data"}
	const want = "/usr/local/bin/etcdutl snapshot restore /data/x.db --name db-1" +
		" --initial-cluster db-1=https://db-1-0.db.prod.svc:2380 --initial-cluster-token tok" +
		" --initial-advertise-peer-urls https://db-1-0.db.prod.svc:2380 --data-dir /var/lib/etcd/data" +
		" --skip-hash-check"
	if diff := cmp.Diff(want+" --bump-revision 1000000000 --mark-compacted",
		strings.Join(New().LoadCommand(in), " ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	in.KeepRevision = true
	if diff := cmp.Diff(want, strings.Join(New().LoadCommand(in), " ")); diff != "" {
		t.Errorf("keeping the revision (-want +got):\n%s", diff)
	}
}
