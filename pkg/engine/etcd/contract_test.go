package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/contracttest"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

func TestContract(t *testing.T) {
	t.Parallel()
	cluster := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Engine: Name, Version: versions.Default,
		Members: 3}}
	cluster.Name, cluster.Namespace = "db", "shop"
	cluster.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "t", Members: []string{"db-1", "db-2", "db-3"}, ClusterID: "c1"}
	contracttest.Run(t, contracttest.Case{
		Engine: New(), Cluster: cluster, View: world(3),
		Versions:    []string{"3.5.9", "3.5.10", "3.6.0", "3.6.16", "3.10.2", "4.0.1"},
		NotVersions: []string{"3", "3.6.x", "3.6.1.2", "-3.6"},
		Positions:   []engine.Position{"c1/2/100/50", "c1/2/101/50", "c1/3/20000/60"}, ForeignPosition: "c2/2/100/50",
		Proofs: []engine.Proof{digestOf([2]string{"a", "1"}).Proof, digestOf([2]string{"a", "2"}).Proof},
	})
}
