package policy

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Found writes into a new cluster who founds it, its permanent identifier, and
// the token of its data, which a restore in place replaces. All members found an empty cluster together; a
// restored one begins with a single member that holds the backup.
func Found(c *v1alpha1.DatabaseCluster, random io.Reader) error {
	var id, token [8]byte
	for _, into := range [][]byte{token[:], id[:]} {
		if _, err := io.ReadFull(random, into); err != nil {
			return fmt.Errorf("make a token and an identifier for cluster %s: %w", c.Name, err)
		}
	}
	founders := int(c.Spec.Members)
	if c.Spec.RestoreFrom != nil {
		founders = 1
	}
	f := &v1alpha1.Formation{Token: hex.EncodeToString(token[:])}
	for n := 1; n <= founders; n++ {
		f.Members = append(f.Members, v1alpha1.MemberName(c.Name, n))
	}
	c.Status.ID, c.Status.Formation = hex.EncodeToString(id[:]), f
	return nil
}
