//go:build !failpoint

package command

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// FailPoint is nil: the released binary has no fail points.
func (*Factory) FailPoint() func(string, ops.Step) { return nil }
