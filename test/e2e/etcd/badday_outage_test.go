//go:build e2e

package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// mendWithin bounds what puts a cable, a node or DNS back.
	mendWithin = 2 * time.Minute
	// missedWithin is when Kubernetes must have missed a silent node.
	missedWithin = time.Minute
	// silence is how long DNS is away.
	silence = time.Minute
)

// outages take nodes, cables and DNS away, and put them back.
func outages() []badDay {
	return []badDay{
		{name: "the node of one member cut off", version: "3.6", befall: minorityCut},
		{name: "the node of one member cut off while it scales", version: "3.6", members: 5,
			befall: minorityCutWhileScaling},
		{name: "the node of two members cut off", version: "3.6", befall: majorityCut},
		{name: "a node lost for good", version: "3.6", befall: nodeLost},
		{name: "DNS away while it scales", version: "3.6", members: 5, befall: withoutNames},
	}
}

// minorityCut takes the cable of the node with one member out: the others go
// on, the tool says what it sees, and touches nothing.
func minorityCut(x *trouble) {
	node, members := x.node(1)
	// Of a pod that never was ready, Kubernetes does not tell that its node is lost.
	x.becomes("my-db", 3)
	x.cut(node)
	x.finds(missedWithin, members[0], "its node is lost", "no further failure")
	x.judge(x.try("scale", "my-db", "--members", "5"), 4, members[0])
	x.refusing(members[0])
	x.reconnect(node)
}

// minorityCutWhileScaling does so in the middle of a change of size.
func minorityCutWhileScaling(x *trouble) {
	node, members := x.node(1)
	p := x.beginsWith("Register my-db-4", "scale", "my-db", "--members", "5")
	x.cut(node)
	x.hears(p, members[0]+" was not reached")
	x.reconnect(node)
	x.ends(p, 0)
}

// majorityCut takes the cable of the node with two members out: nobody serves
// until it is back, and no verb does anything.
func majorityCut(x *trouble) {
	node, _ := x.node(2)
	x.cut(node)
	x.within(missedWithin, "status to say that it does not serve", func() error {
		if r := x.try("status", "my-db"); r.Code != 11 || !strings.Contains(r.Stdout, "does not serve") {
			return fmt.Errorf("status says:\n%s", r)
		}
		return nil
	})
	x.refusing("no quorum")
	x.judge(x.try("backup", "my-db"), 4, "fit to take a backup")
	x.reconnect(node)
}

// nodeLost takes the power of a node away. As long as it may come back its
// member is not replaced; once Kubernetes is told that it never will, the
// volume there is lost, and only a replacement brings three members back.
func nodeLost(x *trouble) {
	node, members := x.node(1)
	x.becomes("my-db", 3)
	x.ok(x.machine.Cluster(x.ctx, "node", "crash", node))
	x.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), mendWithin)
		defer cancel()
		if err := x.machine.Cluster(ctx, "node", "add", node); err != nil {
			x.Error(err)
		}
	})
	x.finds(missedWithin, members[0], "its node is lost", "kubectl delete node "+node)
	x.refusing(members[0])
	x.judge(x.try("member", "replace", "my-db", members[0], "--yes"), 4, node, "silent", "kubectl delete node "+node)
	x.ok(x.machine.Cluster(x.ctx, "node", "remove", node))
	x.finds(2*missedWithin, members[0], "its volume is on a node that is not there any more", " member replace my-db "+
		members[0])
	x.replace(members[0])
}

// withoutNames takes DNS away: what runs goes on, what starts waits.
func withoutNames(x *trouble) {
	p := x.beginsWith("Register my-db-4", "scale", "my-db", "--members", "5")
	x.Cleanup(func() { x.mend("dns", "start") })
	x.ok(x.machine.Cluster(x.ctx, "dns", "stop"))
	began := time.Now()
	x.hears(p, "waiting: ")
	x.within(2*silence, "a minute to pass", func() error {
		if left := silence - time.Since(began); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	if gap := x.load.writer.LongestGap(began, time.Now()); gap > 10*time.Second {
		x.Errorf("without names clients had to wait for %s", gap)
	}
	x.mend("dns", "start")
	x.ends(p, 0)
}

// node is one with so many members of the cluster, and which these are.
func (x *trouble) node(members int) (string, []string) {
	x.Helper()
	list, err := x.site.Client.CoreV1().Pods(x.ns).List(x.ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=database"})
	x.ok(err)
	on := map[string][]string{}
	for _, p := range list.Items {
		on[p.Spec.NodeName] = append(on[p.Spec.NodeName], p.Labels["dbop.dev/member"])
	}
	for node, names := range on {
		if len(names) == members {
			return node, names
		}
	}
	x.Skipf("no node runs %d of the members: %v", members, on)
	return "", nil
}

// cut takes a node's cable out; whatever happens, it is put back.
func (x *trouble) cut(node string) {
	x.Helper()
	x.Cleanup(func() { x.mend("node", "heal", node) })
	x.ok(x.machine.Cluster(x.ctx, "node", "cut", node))
}

func (x *trouble) reconnect(node string) {
	x.Helper()
	x.mend("node", "heal", node)
	x.within(missedWithin, node+" to be ready", func() error {
		n, err := x.site.Client.CoreV1().Nodes().Get(x.ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !nodeReady(*n) {
			return errors.New("it is not")
		}
		return nil
	})
}

// mend puts something back with a time limit of its own.
func (x *trouble) mend(args ...string) {
	x.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), mendWithin)
	defer cancel()
	if err := harness.Until(ctx, mendWithin, strings.Join(args, " "),
		func(ctx context.Context) error { return x.machine.Cluster(ctx, args...) }); err != nil {
		x.Error(err)
	}
}

func nodeReady(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
