package control

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os/exec"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// manifest is what every cluster has: the storage class and the rights of
// our own components.
//
//go:embed manifest.yaml
var manifest []byte

// Apply stores the manifest in the cluster.
func Apply(ctx context.Context, at site.Site) error {
	command := exec.CommandContext(ctx, at.Bin("kubectl"), "--kubeconfig="+at.Kubeconfig(),
		"apply", "--server-side", "--force-conflicts", "-f", "-")
	command.Stdin = bytes.NewReader(manifest)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("apply the cluster's manifest: %w\n%s", err, output)
	}
	return nil
}
