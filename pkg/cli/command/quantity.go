package command

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// DefaultStorage is the size of a member's volume if nothing was said.
const DefaultStorage = "1Gi"

// Quantity reads an amount above 0, such as 1Gi, that a flag takes.
func Quantity(flag, text string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 {
		return q, exit.Misuse("--%s=%s is not an amount; write it like 1Gi or 500m", flag, text)
	}
	return q, nil
}
