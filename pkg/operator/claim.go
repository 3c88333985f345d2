package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// missingClaim refuses another repository whose claim does not exist, before
// the record names it. Where claims can't be read, the first backup tells. It
// keeps nobody from pausing a cluster, and does not stop an operation in flight.
func (v *reconciliation) missingClaim(ctx context.Context) error {
	url := v.custom.Spec.Backup.Repository
	if v.custom.Spec.Paused || v.charge.Active != nil || url == "" || url == v.charge.Record.Spec.Backup.Repository {
		return nil
	}
	at, err := repository.ParseLocation(url)
	if err == nil && at.Kind == repository.KindClaim { // whatever else it is was judged already
		err = v.Fresh.Get(ctx, types.NamespacedName{Namespace: v.key.Namespace, Name: at.Claim},
			&corev1.PersistentVolumeClaim{})
	}
	if !apierrors.IsNotFound(err) {
		return nil
	}
	return &engine.Refusal{Check: "claim", Reason: fmt.Sprintf(
		"there is no persistentvolumeclaim %s in namespace %s, which spec.backup.repository names", at.Claim,
		v.key.Namespace),
		Hint: "create that claim, or correct spec.backup.repository"}
}
