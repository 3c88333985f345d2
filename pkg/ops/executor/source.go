package executor

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// maySource refuses to have members log in to a source with a secret that the cluster may not use: their pods would
// mount it. Once the cluster has formed, it is too late to ask.
func (l *Executor) maySource(ctx context.Context, s ops.State) error {
	from := s.Cluster.Spec.Source
	if from == nil || s.Formed() || !l.Client.Behalf.Limited {
		return nil
	}
	var err error
	switch {
	case from.Cluster != "":
		err = l.Client.Behalf.CheckSuccession(ctx, s.Cluster)
	case from.Secret != "":
		err = l.mayMount(ctx, s, from.Secret)
	}
	if err == nil || ops.Transient(err) {
		return err
	}
	return &ops.Error{Kind: ops.Refused, Check: "source", Err: err,
		Message: fmt.Sprintf("%s can't begin as the copy of %s", s.Cluster.Name, from)}
}

// mayMount refuses a secret that is not there, too: what it will be nobody knows.
func (l *Executor) mayMount(ctx context.Context, s ops.State, name string) error {
	secret := &corev1.Secret{}
	err := l.Client.API.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: name}, secret)
	if errors.Is(err, kube.ErrNotFound) {
		return fmt.Errorf("secret %s/%s is not there yet: %w", l.Namespace, name, kube.ErrNotOffered)
	}
	if err != nil {
		return err
	}
	return l.Client.Behalf.CheckSecret(ctx, secret, s.Cluster)
}
