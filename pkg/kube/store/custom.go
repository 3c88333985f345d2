package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// CustomResources reads and writes the custom resources of clusters.
type CustomResources struct{ Client *kube.Client }

// GetCustom reads a custom resource; ErrNotFound if there is none, or if no
// such kind is served.
func (r CustomResources) GetCustom(ctx context.Context, namespace, name string) (*v1alpha1.DatabaseCluster, error) {
	out := &v1alpha1.DatabaseCluster{}
	return out, r.Client.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, out)
}

// CreateCustom makes a custom resource.
func (r CustomResources) CreateCustom(ctx context.Context, o *v1alpha1.DatabaseCluster) error {
	return r.Client.API.Create(ctx, o)
}

// DeleteCustom deletes that very custom resource; gone already is success.
func (r CustomResources) DeleteCustom(ctx context.Context, o *v1alpha1.DatabaseCluster) error {
	err := r.Client.API.Delete(ctx, o, client.Preconditions{UID: &o.UID})
	if errors.Is(err, kube.ErrConflict) {
		return nil
	}
	return kube.IgnoreNotFound(err)
}

// Mirrored is the store of the command line. What a person has it change
// about a cluster under a custom resource is written there first: what the
// object says counts, and an operator would put the rest back.
type Mirrored struct{ *ConfigMaps }

var _ Store = Mirrored{}

// NewMirrored makes a Store; it makes no request.
func NewMirrored(c *kube.Client) Mirrored { return Mirrored{NewConfigMaps(c)} }

// UpdateCluster implements Store.
func (s Mirrored) UpdateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	if c.Annotations[v1alpha1.AnnotationCustom] != "" {
		if err := s.mirror(ctx, c); err != nil {
			return err
		}
	}
	return s.ConfigMaps.UpdateCluster(ctx, c)
}

// mirror makes the same change to the custom resource that is made to the
// record. What else a person has just put there stays.
func (s Mirrored) mirror(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	old, err := s.GetCluster(ctx, c.Namespace, c.Name)
	if err == nil {
		old.Spec.RestoreFrom = c.Spec.RestoreFrom // where a restore in place got its data from is not for an operator to want
	}
	if err != nil || equality.Semantic.DeepEqual(old.Spec, c.Spec) {
		return err
	}
	custom, err := CustomResources{s.client}.GetCustom(ctx, c.Namespace, c.Name)
	if errors.Is(err, kube.ErrNotFound) || err == nil && string(custom.UID) != c.Annotations[v1alpha1.AnnotationCustom] {
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
	return s.client.API.Patch(ctx, custom, client.RawPatch(types.MergePatchType, patch))
}
