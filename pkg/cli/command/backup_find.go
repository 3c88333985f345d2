package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// OpenRepository opens the repository of the flag, else that of the named
// cluster if it exists, else the default one. A directory that is named needs
// no API server, so that backups can be read when there is none any more.
func (f *Factory) OpenRepository(ctx context.Context, flag, cluster, image string) (repository.Repository, error) {
	var c *v1alpha1.DatabaseCluster
	if at, err := repository.ParseLocation(flag); cluster != "" &&
		(err != nil || at.Kind != repository.KindDirectory) { // a pod may serve a claim
		var err error
		if c, err = f.ClusterIfAny(ctx, cluster); err != nil {
			return nil, err
		}
	}
	at, err := f.Location(flag, c)
	if err != nil {
		return nil, err
	}
	namespace, err := f.Namespace()
	if err != nil {
		return nil, err
	}
	return f.Clients.Repository(ctx, namespace, at, f.HelperImage(image, c))
}

// ClusterIfAny reads a cluster that may be gone: its backups outlive it.
func (f *Factory) ClusterIfAny(ctx context.Context, name string) (*v1alpha1.DatabaseCluster, error) {
	namespace, store, err := f.Here()
	if err != nil {
		return nil, err
	}
	c, err := store.GetCluster(ctx, namespace, name)
	if errors.Is(err, kube.ErrNotFound) {
		return nil, nil
	}
	return c, err
}

// FindBackup opens the repository and reads one manifest. A wrong identifier
// is refused before anything is opened.
func (f *Factory) FindBackup(ctx context.Context, flag, id, image string) (repository.Repository, repository.Manifest,
	error) {
	r, m, err := f.OpenBackup(ctx, flag, id, image)
	if r == nil || err == nil {
		return r, m, err
	}
	_ = r.Close()
	hint := DisplayName + " backup list --repository " + r.URL() + " shows the others"
	if errors.Is(err, repository.ErrDamaged) {
		hint += "; " + DisplayName + " backup delete " + id + " --repository " + r.URL() + " deletes this one"
	}
	return nil, m, &ops.Error{Kind: ops.Failed, Message: fmt.Sprintf("backup %s in %s", id, r.URL()),
		Hint: hint, Err: err}
}

// OpenBackup is findBackup for a backup whose manifest may be damaged: the
// repository is open, also if err is about the manifest.
func (f *Factory) OpenBackup(ctx context.Context, flag, id, image string) (repository.Repository,
	repository.Manifest, error) {
	id = strings.TrimPrefix(id, "backup/")
	if err := repository.CheckID(id); err != nil {
		return nil, repository.Manifest{}, &exit.UsageError{Text: err.Error(), Advice: DisplayName + " backup list"}
	}
	r, err := f.OpenRepository(ctx, flag, repository.ClusterOf(id), image)
	if err != nil {
		return nil, repository.Manifest{}, err
	}
	m, err := r.Get(ctx, id)
	return r, m, err
}
