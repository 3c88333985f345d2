package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// missingRepository refuses another repository whose claim or description does not exist, before
// the record names it. Where these can't be read, the first backup tells. It
// keeps nobody from pausing a cluster, and does not stop an operation in flight.
func (v *reconciliation) missingRepository(ctx context.Context) error {
	url := v.custom.Spec.Backup.Repository
	if v.custom.Spec.Paused || v.charge.Active != nil || url == "" || url == v.charge.Record.Spec.Backup.Repository {
		return nil
	}
	at, err := repository.ParseLocation(url)
	if err != nil {
		return nil //nolint:nilerr // whatever else it is was judged already
	}
	switch at.Kind {
	case repository.KindClaim:
		if v.gone(ctx, at.Claim, &corev1.PersistentVolumeClaim{}) {
			return &engine.Refusal{Check: "claim", Reason: fmt.Sprintf(
				"there is no persistentvolumeclaim %s in namespace %s, which spec.backup.repository names", at.Claim,
				v.key.Namespace),
				Hint: "create that claim, or correct spec.backup.repository"}
		}
	case repository.KindNamed:
		if v.gone(ctx, v1alpha1.Repository(at.Name), &corev1.ConfigMap{}) {
			return &engine.Refusal{Check: "repository", Reason: fmt.Sprintf(
				"there is no repository %s in namespace %s, which spec.backup.repository names", at.Name, v.key.Namespace),
				Hint: fmt.Sprintf("add it: kubectl dbop repository add %s --url URL -n %s; or correct spec.backup.repository",
					at.Name, v.key.Namespace)}
		}
	}
	return nil
}

// gone reports whether an object of the cluster's namespace certainly does not exist.
func (v *reconciliation) gone(ctx context.Context, name string, o client.Object) bool {
	return apierrors.IsNotFound(v.Fresh.Get(ctx, types.NamespacedName{Namespace: v.key.Namespace, Name: name}, o))
}
