package ops

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestTargetText(t *testing.T) {
	t.Parallel()
	for want, to := range map[string]v1alpha1.RecoveryTarget{
		"":                             {Timeline: "2"},
		" and all of the archived log": {Time: "latest", Timeline: "2"},
		" and the archived log up to 2026-11-23T20:15:00Z":       {Time: "2026-11-23T20:15:00Z"},
		" and the archived log up to LSN 0/3000060":              {LSN: "0/3000060"},
		" and the archived log up to restore point before-it":    {Name: "before-it"},
		" and the archived log up to right before transaction 7": {Transaction: "7", Exclusive: true},
	} {
		if got := TargetText(to); got != want {
			t.Errorf("%+v: %q, want %q", to, got, want)
		}
	}
}
