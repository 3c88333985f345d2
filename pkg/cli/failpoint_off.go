//go:build !failpoint

package cli

import "github.com/dbop-dev/kubectl-dbop/pkg/ops"

// failPoint is nil: the released binary has no fail points.
func (*Factory) failPoint() func(string, ops.Step) { return nil }
