package ops

import "github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"

// TargetText says what of the archived log a restore takes beside its backup; "" for nothing.
func TargetText(t v1alpha1.RecoveryTarget) string {
	switch {
	case !t.Set():
		return ""
	case t.Time == v1alpha1.TargetLatest:
		return " and all of the archived log"
	}
	return " and the archived log up to " + t.String()
}
