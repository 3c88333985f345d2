package policy

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Found writes into a new cluster who founds it, its permanent identifier, and
// the token of its data, which a restore in place replaces. All members found an empty cluster together; a
// restored one begins with a single member that holds the backup, and has its users from there. Witnesses bear the
// last names.
func Found(e engine.Engine, c *v1alpha1.DatabaseCluster, random io.Reader) error {
	var id, token [8]byte
	for _, into := range [][]byte{token[:], id[:]} {
		if _, err := io.ReadFull(random, into); err != nil {
			return fmt.Errorf("make a token and an identifier for cluster %s: %w", c.Name, err)
		}
	}
	initial := ops.SizeOf(e, c.Spec)
	if c.Spec.RestoreFrom != nil {
		initial = 1
	}
	f := &v1alpha1.Bootstrap{Token: hex.EncodeToString(token[:]),
		Unfinished: c.Spec.Auth.Enabled && c.Spec.RestoreFrom == nil && c.Spec.Source == nil}
	for n := 1; n <= initial; n++ {
		f.Members = append(f.Members, v1alpha1.MemberName(c.Name, n))
		f.SetWitness(v1alpha1.MemberName(c.Name, n), n > int(c.Spec.Members))
	}
	c.Status.ID, c.Status.Bootstrap = hex.EncodeToString(id[:]), f
	return nil
}
