//go:build e2e

package scene

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// connectedWithin bounds what puts a node back.
const connectedWithin = 2 * time.Minute

// Members are the pods of the members.
func (s *Scene) Members() []corev1.Pod {
	s.Helper()
	pods, err := s.Site.Client.CoreV1().Pods(s.NS).List(s.Ctx, metav1.ListOptions{
		LabelSelector: "dbop.dev/cluster=db,app.kubernetes.io/component=database"})
	s.OK(err)
	return pods.Items
}

// Leads moves the primary to the node with so many members, and names that node and another one; without a number
// neither matters.
func (s *Scene) Leads(members int) (node, other string) {
	s.Helper()
	if members == 0 {
		return "", ""
	}
	first, target, on := s.Member("primary"), "", map[string][]string{}
	for _, p := range s.Members() {
		on[p.Spec.NodeName] = append(on[p.Spec.NodeName], strings.TrimSuffix(p.Name, "-0"))
	}
	for name, there := range on {
		if len(there) != members {
			other = name
			continue
		}
		node, target = name, there[0]
		for _, m := range there {
			if m == first {
				target = first
			}
		}
	}
	if target == "" || other == "" {
		s.Skipf("no node runs %d of the members: %v", members, on)
	}
	if target != first {
		data := 1 + strings.Count(s.Try("status", "db").Stdout, " replica ")
		s.Must("switchover", "db", "--to", target)
		s.Healthy(data)
	}
	return node, other
}

// Drained drains a node of this test's members as a person does, and reports whether that came to its end in time.
// Uncordon undoes it.
func (s *Scene) Drained(node string, within time.Duration) bool {
	s.Helper()
	s.Cleanup(func() { s.Uncordon(node) })
	began := time.Now()
	r, err := s.Site.Kubectl(s.TempDir()).Run(s.Ctx, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data",
		"--pod-selector=dbop.dev/cluster=db", "--timeout="+within.String())
	s.OK(err)
	s.Logf("drain of %s: exit code %d after %s", node, r.Code, time.Since(began).Round(100*time.Millisecond))
	if r.Code != 0 && !strings.Contains(r.Stderr, "global timeout reached") {
		s.Fatalf("%s", r)
	}
	return r.Code == 0
}

// Uncordon lets pods onto a node again.
func (s *Scene) Uncordon(node string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), connectedWithin)
	defer cancel()
	if r, err := s.Site.Kubectl(s.TempDir()).Run(ctx, "uncordon", node); err != nil || r.Code != 0 {
		s.Errorf("uncordon %s: %v\n%s", node, err, r)
	}
}

// Down waits until status says that the cluster does not serve.
func (s *Scene) Down() {
	s.Helper()
	s.OK(harness.Until(s.Ctx, time.Minute, "status to tell that nobody leads", func(context.Context) error {
		if r := s.Try("status", "db"); r.Code != 11 {
			return fmt.Errorf("exit code %d:\n%s", r.Code, r.Stdout)
		}
		return nil
	}))
}

// Cut takes a node off the network; whatever happens, it is put back.
func (s *Scene) Cut(m *harness.Machine, node string) {
	s.Helper()
	s.Cleanup(func() { s.Connected(m, node) })
	s.OK(m.Cluster(s.Ctx, "node", "cut", node))
}

// Connected puts a node back.
func (s *Scene) Connected(m *harness.Machine, node string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), connectedWithin)
	defer cancel()
	if err := harness.Until(ctx, connectedWithin, node+" to be connected", func(ctx context.Context) error {
		if err := m.Cluster(ctx, "node", "heal", node); err != nil {
			return err
		}
		n, err := s.Site.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		for i := range n.Status.Conditions {
			if c := n.Status.Conditions[i]; err == nil && c.Type == "Ready" && c.Status != "True" {
				err = fmt.Errorf("it is not ready: %s", c.Message)
			}
		}
		return err
	}); err != nil {
		s.Error(err)
	}
}

// KillFor kills the first process of a member, and so all in its container, whenever it is back, for a while. It needs
// no control plane once it is called.
func (s *Scene) KillFor(kill func() error, d time.Duration) {
	s.Helper()
	died := time.Now()
	s.OK(kill())
	for time.Since(died) < d {
		_ = kill() // it may be dead
		time.Sleep(time.Second)
	}
}

// Inside runs a script in the container of a member.
func (s *Scene) Inside(member, container, script string) string {
	s.Helper()
	r, err := s.Site.Kubectl(s.TempDir()).Run(s.Ctx, "-n", s.NS, "exec", member+"-0", "-c", container, "--", "sh", "-c",
		script)
	s.OK(err)
	if r.Code != 0 {
		s.Fatalf("expected success:\n%s", r)
	}
	return strings.TrimSpace(r.Stdout)
}

// Size sets how many pods a member's workload wants, and waits for that many.
func (s *Scene) Size(member string, pods int) {
	s.Helper()
	sets := s.Site.Client.AppsV1().StatefulSets(s.NS)
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, pods)
	_, err := sets.Patch(s.Ctx, member, types.MergePatchType, patch, metav1.PatchOptions{})
	s.OK(err)
	s.OK(harness.Until(s.Ctx, time.Minute, "the pods of "+member, func(ctx context.Context) error {
		set, err := sets.Get(ctx, member, metav1.GetOptions{})
		if err == nil && int(set.Status.Replicas) != pods {
			err = fmt.Errorf("%d of %d", set.Status.Replicas, pods)
		}
		return err
	}))
}
