package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// GetCustom reads a custom resource; ErrNotFound if there is none, or if no
// such kind is served.
func (c *Client) GetCustom(ctx context.Context, namespace, name string) (*v1alpha1.DatabaseCluster, error) {
	out := &v1alpha1.DatabaseCluster{}
	return out, c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, out)
}

// CreateCustom makes a custom resource.
func (c *Client) CreateCustom(ctx context.Context, o *v1alpha1.DatabaseCluster) error {
	return c.api.Create(ctx, o)
}

// DeleteCustom deletes that very custom resource; gone already is success.
func (c *Client) DeleteCustom(ctx context.Context, o *v1alpha1.DatabaseCluster) error {
	err := c.api.Delete(ctx, o, client.Preconditions{UID: &o.UID})
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return ignoreGone(err)
}

// MirroredStore is the store of the command line. What a person has it change
// about a cluster under a custom resource is written there first: what the
// object says counts, and an operator would put the rest back.
type MirroredStore struct{ *ConfigMapStore }

var _ Store = MirroredStore{}

// NewMirroredStore makes a Store; it makes no request.
func NewMirroredStore(c *Client) MirroredStore { return MirroredStore{NewConfigMapStore(c)} }

// UpdateCluster implements Store.
func (s MirroredStore) UpdateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	if c.Annotations[v1alpha1.AnnotationCustom] != "" {
		if err := s.mirror(ctx, c); err != nil {
			return err
		}
	}
	return s.ConfigMapStore.UpdateCluster(ctx, c)
}

// mirror makes the same change to the custom resource that is made to the
// record. What else a person has just put there stays.
func (s MirroredStore) mirror(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	old, err := s.GetCluster(ctx, c.Namespace, c.Name)
	if err == nil {
		old.Spec.RestoreFrom = c.Spec.RestoreFrom // where a restore in place got its data from is not for an operator to want
	}
	if err != nil || equality.Semantic.DeepEqual(old.Spec, c.Spec) {
		return err
	}
	custom, err := s.client.GetCustom(ctx, c.Namespace, c.Name)
	if errors.Is(err, ErrNotFound) || err == nil && string(custom.UID) != c.Annotations[v1alpha1.AnnotationCustom] {
		return nil
	}
	if err != nil {
		return err
	}
	var texts [2][]byte
	for i, spec := range []*v1alpha1.DatabaseClusterSpec{&old.Spec, &c.Spec} {
		if texts[i], err = json.Marshal(spec); err != nil {
			return fmt.Errorf("compare what is wanted of %s: %w", c.Name, err)
		}
	}
	change, err := jsonpatch.CreateMergePatch(texts[0], texts[1])
	if err != nil {
		return fmt.Errorf("compare what is wanted of %s: %w", c.Name, err)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},"spec":%s}`, custom.ResourceVersion, change)
	return s.client.api.Patch(ctx, custom, client.RawPatch(types.MergePatchType, patch))
}

// How old a heartbeat may be, and how long a doubtful one is watched.
const (
	heartbeatAge   = 10 * time.Second
	heartbeatWatch = 3 * time.Second
)

// OperatorAlive reports whether the operator that looks after a cluster is
// alive. One that can't be asked about counts as alive: to wait for it is
// safe, to act beside it is only slower.
func (c *Client) OperatorAlive(ctx context.Context, namespace, name string) (bool, error) {
	custom, err := c.GetCustom(ctx, namespace, name)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	at, lease, ok := strings.Cut(custom.Status.Operator, "/")
	if !ok {
		return false, nil
	}
	first := ""
	for began := time.Now(); ; {
		l := &coordinationv1.Lease{}
		err := c.api.Get(ctx, client.ObjectKey{Namespace: at, Name: lease}, l)
		if _, ok := errors.AsType[*ForbiddenError](err); ok {
			return true, nil
		}
		switch {
		case errors.Is(err, ErrNotFound):
			return false, nil
		case err != nil:
			return false, err
		case holder(l) == "":
			return false, nil
		case l.Spec.RenewTime != nil && c.Now().Sub(l.Spec.RenewTime.Time).Abs() < heartbeatAge, first != "" && first != l.ResourceVersion:
			return true, nil
		case time.Since(began) > heartbeatWatch:
			return false, nil
		}
		first = l.ResourceVersion
		timer := time.NewTimer(heartbeatWatch / 6)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, context.Cause(ctx)
		}
	}
}
