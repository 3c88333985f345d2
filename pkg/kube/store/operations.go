package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// CreateOperation writes a record. Without a name it gets a fresh one that
// sorts by time of creation.
func (s *ConfigMaps) CreateOperation(ctx context.Context, o *v1alpha1.Operation) error {
	if o.Name == "" {
		suffix := make([]byte, 2)
		_, _ = rand.Read(suffix) // never fails, see crypto/rand
		// Times in records are whole seconds; the name tells two of one second apart.
		now := s.client.Now().UTC()
		o.Name = v1alpha1.OperationRecord(o.Spec.Cluster, fmt.Sprintf("%s%03d-%s", now.Format("20060102t150405"),
			now.Nanosecond()/1e6, hex.EncodeToString(suffix)))
	}
	m, err := encodeOperation(o)
	if err != nil {
		return err
	}
	if err := s.client.API.Create(ctx, m); err != nil {
		return err
	}
	adoptOperation(o, m)
	return nil
}

// UpdateOperation replaces the record. The journal keeps its newest entries
// only, in the store; the object passed in stays as it is.
func (s *ConfigMaps) UpdateOperation(ctx context.Context, o *v1alpha1.Operation) error {
	if o.ResourceVersion == "" {
		return &kube.RequestError{Verb: "update", Resource: "configmaps", Namespace: o.Namespace, Name: o.Name,
			Kind: kube.ErrConflict}
	}
	m, err := encodeOperation(o)
	if err != nil {
		return err
	}
	if err := s.client.API.Update(ctx, m); err != nil {
		return err
	}
	adoptOperation(o, m)
	return nil
}

// GetOperation reads a record by its name; ErrNotFound if there is none.
func (s *ConfigMaps) GetOperation(ctx context.Context, namespace, name string) (*v1alpha1.Operation, error) {
	m, err := s.get(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return decodeOperation(m)
}

// ListOperations lists a cluster's records, newest first; those of all clusters for "".
func (s *ConfigMaps) ListOperations(ctx context.Context, namespace, cluster string) ([]v1alpha1.Operation, error) {
	return s.operations(ctx, namespace, cluster, "")
}

// ActiveOperations lists the records in flight of a cluster, oldest first. It is one request.
func (s *ConfigMaps) ActiveOperations(ctx context.Context, namespace, cluster string) ([]v1alpha1.Operation, error) {
	active := fmt.Sprintf(",%s in (%s,%s,%s)", v1alpha1.LabelPhase, v1alpha1.PhaseRunning, v1alpha1.PhasePaused,
		v1alpha1.PhaseCancelling)
	all, err := s.operations(ctx, namespace, cluster, active)
	slices.Reverse(all)
	return all, err
}

func (s *ConfigMaps) operations(ctx context.Context, namespace, cluster, more string) ([]v1alpha1.Operation, error) {
	selector := v1alpha1.LabelKind + "=" + kindOperation
	if cluster != "" {
		selector += "," + v1alpha1.LabelCluster + "=" + cluster
	}
	maps, err := s.list(ctx, namespace, selector+more)
	if err != nil {
		return nil, err
	}
	out := make([]v1alpha1.Operation, 0, len(maps))
	for i := range maps {
		o, err := decodeOperation(&maps[i])
		if err != nil {
			return nil, err
		}
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b v1alpha1.Operation) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			b.Status.StartedAt.Compare(a.Status.StartedAt.Time), strings.Compare(b.Name, a.Name))
	})
	return out, nil
}
