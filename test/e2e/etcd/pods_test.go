//go:build e2e

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// podWithin bounds what Kubernetes needs to stop or start a pod.
const podWithin = time.Minute

// stop takes a member's pod away and keeps it away.
func (s *scene) stop(member string) {
	s.Helper()
	s.replicas(member, 0)
	s.ok(harness.Until(s.ctx, podWithin, member+" to be gone", func(ctx context.Context) error {
		_, err := s.site.Client.CoreV1().Pods(s.ns).Get(ctx, member+"-0", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("its pod is still there: %w", err)
	}))
}

// start brings a stopped member back.
func (s *scene) start(member string) {
	s.Helper()
	s.replicas(member, 1)
}

func (s *scene) replicas(member string, n int32) {
	s.Helper()
	// A patch names no version of the object, so the controller's writes can't conflict with it.
	_, err := s.site.Client.AppsV1().StatefulSets(s.ns).Patch(s.ctx, member, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{}, "scale")
	s.ok(err)
}

// becomes waits until the tool finds the cluster healthy again.
func (s *scene) becomes(name string, members int) {
	s.Helper()
	s.ok(harness.Until(s.ctx, podWithin, name+" to be healthy", func(context.Context) error {
		if r := s.try("status", name); r.Code != 0 {
			return fmt.Errorf("status says:\n%s", r)
		}
		return nil
	}))
	s.healthy(name, members)
}

// waitForLease returns when somebody holds the cluster.
func (s *scene) waitForLease() error {
	return harness.Until(s.ctx, podWithin, "an operation to begin", func(ctx context.Context) error {
		ops, err := s.site.Client.CoreV1().ConfigMaps(s.ns).List(ctx,
			metav1.ListOptions{LabelSelector: "dbop.dev/kind=operation,dbop.dev/phase=Running"})
		if err != nil {
			return err
		}
		if len(ops.Items) == 0 {
			return errors.New("no operation runs")
		}
		return nil
	})
}
