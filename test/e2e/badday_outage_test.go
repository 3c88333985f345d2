//go:build e2e

package e2e

import (
	"context"
	"errors"
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
)

// outages take cables out, and put them back.
func outages() []badDay {
	return []badDay{
		{name: "the node of one member cut off", version: "3.6", befall: minorityCut},
	}
}

// minorityCut takes the cable of the node with one member out: the others go
// on, the tool says what it sees, and touches nothing.
func minorityCut(x *trouble) {
	node, members := x.node(1)
	x.cut(node)
	x.finds(missedWithin, members[0], "its node is lost", "no further failure")
	x.judge(x.try("scale", "my-db", "--members", "5"), 4, members[0])
	x.refusing(members[0])
	x.heal(node)
}

// node is one with so many members of the cluster, and which these are.
func (x *trouble) node(members int) (string, []string) {
	x.Helper()
	list, err := x.site.Client.CoreV1().Pods(x.ns).List(x.ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=database"})
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

func (x *trouble) heal(node string) {
	x.Helper()
	x.mend("node", "heal", node)
	x.within(missedWithin, node+" to be ready", func() error {
		n, err := x.site.Client.CoreV1().Nodes().Get(x.ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
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
	if err := harness.Until(ctx, mendWithin, strings.Join(args, " "), func(ctx context.Context) error { return x.machine.Cluster(ctx, args...) }); err != nil {
		x.Error(err)
	}
}
