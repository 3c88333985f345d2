package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// goneWithin and goneEvery bound the wait for an object that is being deleted.
	goneWithin = time.Minute
	goneEvery  = 200 * time.Millisecond
)

// ApplyManifest applies an object as it is. A repeat changes nothing. One that
// is being deleted is waited for: what is applied to it would go with it, as a
// definition does that has objects left.
func (c *Client) ApplyManifest(ctx context.Context, u *unstructured.Unstructured) error {
	err := wait.PollUntilContextTimeout(ctx, goneEvery, goneWithin, true, func(ctx context.Context) (bool, error) {
		found, err := c.GetManifest(ctx, u)
		if errors.Is(err, ErrNotFound) {
			return true, nil
		}
		return err == nil && found.GetDeletionTimestamp() == nil, err
	})
	if err != nil {
		return fmt.Errorf("wait until no %s %s is being deleted: %w", u.GetKind(), u.GetName(), err)
	}
	wanted := u.DeepCopy()
	return c.API.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.ForceOwnership)
}

// GetManifest reads the object of that kind and name.
func (c *Client) GetManifest(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(u.GroupVersionKind())
	return out, c.API.Get(ctx, client.ObjectKeyFromObject(u), out)
}

// DeleteManifest deletes an object, if it is there.
func (c *Client) DeleteManifest(ctx context.Context, u *unstructured.Unstructured) error {
	return IgnoreNotFound(c.API.Delete(ctx, u.DeepCopy()))
}

// Rollout says how many replicas of a Deployment are as wanted and ready, of how many.
func (c *Client) Rollout(ctx context.Context, namespace, name string) (ready, wanted int64, image string, err error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
		return 0, 0, "", err
	}
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(u.Object, fields...)
		return n
	}
	wanted = number("spec", "replicas")
	if number("status", "observedGeneration") >= u.GetGeneration() &&
		number("status", "updatedReplicas") == number("status", "replicas") {
		ready = number("status", "readyReplicas")
	}
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	for _, entry := range containers {
		if m, ok := entry.(map[string]any); ok {
			image = fmt.Sprint(m["image"])
		}
	}
	return ready, wanted, image, nil
}
