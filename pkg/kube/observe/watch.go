package observe

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// rewatch is the pause before a watch that ended is started again.
const rewatch = time.Second

// Watch receives when a pod of the cluster may have changed; several changes
// may count as one. It is only a wake-up: who may not watch pods never
// hears anything, and reads now and then as everybody else does. It ends with ctx.
func Watch(ctx context.Context, c *kube.Client, namespace, cluster string) <-chan struct{} {
	wake := make(chan struct{}, 1)
	go func() {
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			var forbidden *kube.ForbiddenError
			if err := watchPods(ctx, c, namespace, cluster, wake); errors.As(err, &forbidden) {
				return
			}
			timer.Reset(rewatch)
		}
	}()
	return wake
}

// watchPods wakes on every event until the watch ends, as watches do.
func watchPods(ctx context.Context, c *kube.Client, namespace, cluster string, wake chan<- struct{}) error {
	w, err := c.API.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: cluster})
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-w.ResultChan():
			if !open {
				return nil
			}
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}
}
