package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/provisioner/disk"
)

// grower enlarges the disks of claims that ask for more than they have: the
// part of CSI's external-resizer that matters here.
type grower struct {
	client kubernetes.Interface
	disks  disk.Store
	claims cache.Indexer
	queue  workqueue.TypedRateLimitingInterface[string]
}

// newGrower watches claims through the informer that provisioning has too.
func newGrower(client kubernetes.Interface, disks disk.Store, informer cache.SharedIndexInformer) (*grower, error) {
	g := &grower{
		client: client, disks: disks, claims: informer.GetIndexer(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    g.consider,
		UpdateFunc: func(_, changed any) { g.consider(changed) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch claims for growth: %w", err)
	}
	return g, nil
}

// consider queues a claim that wants to grow.
func (g *grower) consider(object any) {
	claim, ok := object.(*corev1.PersistentVolumeClaim)
	if !ok || !wantsMore(claim) {
		return
	}
	g.queue.Add(claim.Namespace + "/" + claim.Name)
}

// wantsMore reports whether a bound claim asks for more than it has.
func wantsMore(claim *corev1.PersistentVolumeClaim) bool {
	wanted := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	has := claim.Status.Capacity[corev1.ResourceStorage]
	return claim.Status.Phase == corev1.ClaimBound && !has.IsZero() && wanted.Cmp(has) > 0
}

// run works the queue until ctx ends.
func (g *grower) run(ctx context.Context) {
	context.AfterFunc(ctx, g.queue.ShutDown)
	for {
		key, stopped := g.queue.Get()
		if stopped {
			return
		}
		if err := g.grow(ctx, key); err != nil {
			slog.Error("growing failed, will be tried again", "claim", key, "error", err)
			g.queue.AddRateLimited(key)
		} else {
			g.queue.Forget(key)
		}
		g.queue.Done(key)
	}
}

// grow enlarges the disk, then the volume, then tells the claim: in the order
// in which each may be relied upon.
func (g *grower) grow(ctx context.Context, key string) error {
	object, exists, err := g.claims.GetByKey(key)
	if err != nil || !exists {
		return err
	}
	claim, ok := object.(*corev1.PersistentVolumeClaim)
	if !ok || !wantsMore(claim) {
		return nil
	}
	volume, err := g.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get the volume of claim %s: %w", key, err)
	}
	if volume.Annotations[provisionedBy] != provisionerName {
		return nil
	}
	wanted := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if err := g.disks.Grow(ctx, volume.Name, wanted.Value()); err != nil {
		return err
	}
	patch, err := capacityPatch("spec", wanted)
	if err != nil {
		return err
	}
	_, err = g.client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("record the new capacity of volume %s: %w", volume.Name, err)
	}
	patch, err = capacityPatch("status", wanted)
	if err != nil {
		return err
	}
	_, err = g.client.CoreV1().PersistentVolumeClaims(claim.Namespace).
		Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("record the new capacity of claim %s: %w", key, err)
	}
	slog.Info("grown", "claim", key, "volume", volume.Name, "to", wanted.String())
	return nil
}

// capacityPatch sets capacity.storage; a claim's conditions go with it, for
// they only told of the growth that is now done.
func capacityPatch(section string, capacity resource.Quantity) ([]byte, error) {
	fields := map[string]any{"capacity": map[string]string{"storage": capacity.String()}}
	if section == "status" {
		fields["conditions"] = nil
	}
	patch, err := json.Marshal(map[string]any{section: fields})
	if err != nil {
		return nil, fmt.Errorf("encode a capacity: %w", err)
	}
	return patch, nil
}
