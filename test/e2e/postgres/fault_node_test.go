//go:build e2e

package postgres

import (
	"context"
	"time"
)

// bootsWithin bounds what joins a node again.
const bootsWithin = 4 * time.Minute

// nodeFaults take the power of a node away.
func nodeFaults() []fault {
	return []fault{
		{name: "power of the node of the primary lost, one voter on it", voters: 1, befall: powerLost},
		{name: "power of the node of the primary lost, two voters on it", voters: 2, befall: powerOfMostLost},
		{name: "node of the primary lost for good", voters: 1, befall: nodeLost},
	}
}

// crash takes the power of the node of the primary away; whatever happens, it comes back in the end.
func (x *struck) crash() {
	x.Helper()
	x.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bootsWithin)
		defer cancel()
		if err := x.machine.Cluster(ctx, "node", "add", x.node); err != nil {
			x.Error(err)
		}
	})
	x.began = time.Now()
	x.ok(x.machine.Cluster(x.ctx, "node", "crash", x.node))
}

// powerLost: the others have a new primary, and the old one is a replica once its node is back.
func powerLost(x *struck) {
	x.crash()
	x.failedOver()
	x.shared.Connected(x.machine, x.node)
}

// powerOfMostLost: nobody leads until the node is back. The replica that is left takes no row, and reads go on there.
func powerOfMostLost(x *struck) {
	x.crash()
	x.shared.Down()
	x.says("recover")
	left := x.left()
	x.refuses(left)
	if out := x.asked(left, "SELECT count(*) > 0 FROM written"); out != "t" {
		x.Errorf("a read is answered: %s", out)
	}
	x.shared.Connected(x.machine, x.node)
	x.w.goesOn("rows to go on once the node is back")
}

// left is a member on another node.
func (x *struck) left() string {
	x.Helper()
	for _, p := range x.shared.Members() {
		if p.Spec.NodeName == x.other {
			return p.Labels["dbop.dev/member"]
		}
	}
	x.Fatalf("no member is on %s", x.other)
	return ""
}

// nodeLost: as long as the node may come back its member is not replaced; once Kubernetes was told that it never will,
// a replacement makes three of two.
func nodeLost(x *struck) {
	x.crash()
	x.failedOver()
	x.says(x.first)
	x.refused(4, "kubectl delete node "+x.node, "member", "replace", "db", x.first, "--yes")
	x.ok(x.machine.Cluster(x.ctx, "node", "remove", x.node))
	x.diagnosed("its volume is on a node that is not there any more", "member replace db "+x.first)
	x.must("member", "replace", "db", x.first, "--yes")
}
