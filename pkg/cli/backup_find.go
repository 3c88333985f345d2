package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// openRepository opens the repository of the flag, else that of the named
// cluster if it exists, else the default one. A directory that is named needs
// no API server, so that backups can be read when there is none any more.
func (f *Factory) openRepository(ctx context.Context, flag, cluster, image string) (repository.Repository, error) {
	var c *v1alpha1.DatabaseCluster
	if cluster != "" && (flag == "" || strings.HasPrefix(flag, string(repository.KindClaim)+":")) {
		var err error
		if c, err = f.clusterIfAny(ctx, cluster); err != nil {
			return nil, err
		}
	}
	at, err := f.location(flag, c)
	if err != nil {
		return nil, err
	}
	namespace, err := f.namespace()
	if err != nil {
		return nil, err
	}
	return f.Clients.Repository(ctx, namespace, at, f.helperImage(image, c))
}

// clusterIfAny reads a cluster that may be gone: its backups outlive it.
func (f *Factory) clusterIfAny(ctx context.Context, name string) (*v1alpha1.DatabaseCluster, error) {
	namespace, store, err := f.here()
	if err != nil {
		return nil, err
	}
	c, err := store.GetCluster(ctx, namespace, name)
	if errors.Is(err, kube.ErrNotFound) {
		return nil, nil
	}
	return c, err
}

// clusterOf cuts time and random suffix off an identifier; "" if it has none.
func clusterOf(id string) string {
	parts := strings.Split(id, "-")
	if len(parts) < 3 {
		return ""
	}
	return strings.Join(parts[:len(parts)-2], "-")
}

// findBackup opens the repository and reads one manifest. A wrong identifier
// is refused before anything is opened.
func (f *Factory) findBackup(ctx context.Context, flag, id, image string) (repository.Repository, repository.Manifest, error) {
	r, m, err := f.lookUpBackup(ctx, flag, id, image)
	if r == nil || err == nil {
		return r, m, err
	}
	_ = r.Close()
	hint := displayName + " backup list --repository " + r.URL() + " shows the others"
	if errors.Is(err, repository.ErrDamaged) {
		hint += "; " + displayName + " backup delete " + id + " --repository " + r.URL() + " deletes this one"
	}
	return nil, m, &ops.Error{Kind: ops.Failed, Message: fmt.Sprintf("backup %s in %s", id, r.URL()), Hint: hint, Err: err}
}

// lookUpBackup is findBackup for a backup whose manifest may be damaged: the
// repository is open, also if err is about the manifest.
func (f *Factory) lookUpBackup(ctx context.Context, flag, id, image string) (repository.Repository, repository.Manifest, error) {
	id = strings.TrimPrefix(id, "backup/")
	if err := repository.CheckID(id); err != nil {
		return nil, repository.Manifest{}, &usageError{text: err.Error(), hint: displayName + " backup list"}
	}
	r, err := f.openRepository(ctx, flag, clusterOf(id), image)
	if err != nil {
		return nil, repository.Manifest{}, err
	}
	m, err := r.Get(ctx, id)
	return r, m, err
}
