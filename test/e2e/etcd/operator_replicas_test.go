//go:build e2e

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// namespaceGoneWithin bounds the deletion of a namespace that holds a cluster.
const namespaceGoneWithin = time.Minute

// wanted makes a custom resource of an etcd cluster in some namespace.
func (c *custom) wanted(namespace, name string, members int32, changes ...func(*v1alpha1.DatabaseClusterSpec)) {
	c.Helper()
	o := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Engine: "etcd", Version: "3.6.16", Members: members,
		Registry: c.site.Env["DBOP_REGISTRY"],
		Storage:  v1alpha1.Storage{Size: resource.MustParse(storage)}}}
	o.Name, o.Namespace = name, namespace
	for _, change := range changes {
		change(&o.Spec)
	}
	c.ok(harness.Until(c.ctx, readyWithin, "the kind to be served",
		func(ctx context.Context) error { return c.api.Create(ctx, o) }))
}

// readyIn waits for a cluster in another namespace.
func (c *custom) readyIn(namespace, name string) {
	c.Helper()
	c.ok(harness.Until(c.ctx, readyWithin, name+" in "+namespace+" to be ready", func(ctx context.Context) error {
		o := &v1alpha1.DatabaseCluster{}
		if err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(o.Status.Conditions, "Ready") {
			return fmt.Errorf("%+v", o.Status.Conditions)
		}
		return nil
	}))
}

// stalled waits until a cluster can't go on, for a reason with these words.
func (c *custom) stalled(name string, words ...string) {
	c.Helper()
	c.ok(harness.Until(c.ctx, readyWithin, name+" to be stalled", func(ctx context.Context) error {
		o := &v1alpha1.DatabaseCluster{}
		if err := c.api.Get(ctx, client.ObjectKey{Namespace: c.ns, Name: name}, o); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(o.Status.Conditions, "Stalled")
		for _, w := range words {
			if condition == nil || condition.Status != metav1.ConditionTrue || !strings.Contains(condition.Message, w) {
				return fmt.Errorf("%q is not in %+v", w, o.Status.Conditions)
			}
		}
		return nil
	}))
}

// TestOperatorReplicas: the leader of two replicas is killed in the middle of a
// change, and the other goes on; a namespace that holds a cluster goes at
// once, whether an operator is alive or not.
func TestOperatorReplicas(t *testing.T) {
	s := newScene(t, "opteam", "my-db")
	c := s.custom()
	var others []string
	for range 2 {
		ns, err := s.site.CreateNamespace(s.ctx, "e2e-opteam")
		s.ok(err)
		others = append(others, ns)
		t.Cleanup(func() {
			if err := s.site.DeleteNamespace(context.WithoutCancel(s.ctx), ns, goneWithin); err != nil {
				t.Error(err)
			}
		})
	}
	install := []string{"--operator-namespace", s.ns, "--watch", s.ns, "--watch", others[0], "--watch", others[1]}
	s.must(append([]string{"operator", "install"}, install...)...)
	for _, ns := range others {
		c.wanted(ns, "passing", 1)
	}
	c.wanted(s.ns, "my-db", 1)
	c.ready("my-db", 1)

	// A command asks, an operator acts, and is killed.
	p := s.begin(s.cli, "scale", "my-db", "--members", "3", "--progress", "plain")
	s.ok(untilSaid(s.ctx, p, "Register my-db-2"))
	leader := s.leads()
	s.ok(s.site.Client.CoreV1().Pods(s.ns).Delete(s.ctx, leader, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	died := time.Now()
	s.ok(harness.Until(s.ctx, takenOverWithin, "the other replica to act", func(ctx context.Context) error {
		lease, err := s.site.Client.CoordinationV1().Leases(s.ns).Get(ctx, "my-db.dbop", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || lease.Spec.AcquireTime == nil || lease.Spec.AcquireTime.Time.Before(died) {
			return errors.New("it has not taken the lease of my-db")
		}
		return nil
	}))
	t.Logf("taken over after %s", time.Since(died).Round(100*time.Millisecond))
	r, err := p.Wait()
	s.ok(err)
	if r.Code != 0 || s.leads() == leader {
		t.Errorf("led by %s:\n%s", s.leads(), r)
	}
	c.ready("my-db", 3)
	if n := strings.Count(s.must("history", "my-db").Stdout, "scale"); n != 1 {
		t.Errorf("one wish became %d operations", n)
	}

	// Namespaces go; the first under the eyes of an operator.
	for i, ns := range others {
		c.readyIn(ns, "passing")
		if i == 1 {
			s.must(append([]string{"operator", "uninstall", "--yes"}, install...)...)
		}
		began := time.Now()
		s.ok(s.site.DeleteNamespace(s.ctx, ns, namespaceGoneWithin))
		t.Logf("namespace with a cluster gone after %s, operator alive: %v", time.Since(began).Round(100*time.Millisecond),
			i == 0)
	}

	// Without an operator: the cluster goes on, and commands operate it.
	s.says(s.must("status", "my-db"), "is not alive; commands act themselves")
	s.must("operator", "release", "my-db")
	s.must("scale", "my-db", "--members", "1", "--yes")
	s.healthy("my-db", 1)
}

// leads names the pod of the replica that leads.
func (s *scene) leads() string {
	s.Helper()
	lease, err := s.site.Client.CoordinationV1().Leases(s.ns).Get(s.ctx, "kubectl-dbop-operator", metav1.GetOptions{})
	s.ok(err)
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return name
}

// TestOperatorTurnsDown: what the API server can't know, the operator tells;
// putting it right is enough.
func TestOperatorTurnsDown(t *testing.T) {
	s := newScene(t, "opbad", "my-db", "taken")
	s.installOperator()
	c := s.custom()

	// A name that the command line took: both are named, nothing is touched.
	s.create("taken", "3.6", "1")
	c.wanted(s.ns, "taken", 3)
	c.stalled("taken", "configmap taken.dbop", "databasecluster taken", "operator adopt taken")
	s.healthy("taken", 1)

	// An authority that does not exist, then a namespace that has no room.
	c.wanted(s.ns, "my-db", 1, func(spec *v1alpha1.DatabaseClusterSpec) { spec.TLS.CASecret = "nobodys" })
	c.stalled("my-db", "nobodys")
	quota := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: resource.MustParse("1")}}}
	quota.Name = "none-left"
	_, err := s.site.Client.CoreV1().ResourceQuotas(s.ns).Create(s.ctx, quota, metav1.CreateOptions{})
	s.ok(err)
	s.ok(c.patch("my-db", func(spec *v1alpha1.DatabaseClusterSpec) { spec.TLS.CASecret = "" }))
	c.stalled("my-db", "quota")
	s.ok(s.site.Client.CoreV1().ResourceQuotas(s.ns).Delete(s.ctx, quota.Name, metav1.DeleteOptions{}))
	c.ready("my-db", 1)

	// Two people edit, the second while the wish of the first comes true.
	s.ok(c.patch("my-db", func(spec *v1alpha1.DatabaseClusterSpec) {
		spec.Waive, spec.Config = []string{"downtime"}, map[string]string{"snapshot-count": "20000"}
	}))
	s.within(readyWithin, "the operator to restart my-db-1", func() error {
		if r := s.kubectl("logs", "-l", "app.kubernetes.io/component=operator", "--tail=-1"); !strings.Contains(r.Stdout,
			`"step":"roll-member/my-db-1"`) {
			return errors.New(r.String())
		}
		return nil
	})
	s.ok(c.patch("my-db", func(spec *v1alpha1.DatabaseClusterSpec) { spec.Config["auto-compaction-retention"] = "2h" }))
	c.ready("my-db", 1)
	s.runsWith("my-db", "snapshot-count=20000")
	s.runsWith("my-db", "auto-compaction-retention=2h")
	if r := s.must("history", "my-db"); strings.Count(r.Stdout, "configure") != 2 {
		t.Errorf("two wishes became:\n%s", r)
	}
}
