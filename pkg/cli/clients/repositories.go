package clients

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/portforward"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/repositories"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Named keeps the repositories that have a name in a namespace.
type Named interface {
	// List reads descriptions; one that can't be read is an error beside the list.
	List(ctx context.Context, namespace string) ([]bucket.Description, error)
	// Get reads one; kube.ErrNotFound if there is none.
	Get(ctx context.Context, namespace, name string) (bucket.Description, error)
	// Secrets reads what it takes to write to one, and to read it, as far as the namespace has that.
	Secrets(ctx context.Context, namespace string, d bucket.Description) (bucket.Secrets, error)
	// Save and Delete change what the namespace holds, and nothing in the store.
	Save(ctx context.Context, namespace string, d bucket.Description, s bucket.Secrets) error
	Delete(ctx context.Context, namespace, name string) error
	// Mountable is where pods can be that mount a claim at the same time; kube.ErrNotFound if there is none.
	Mountable(ctx context.Context, namespace, claim string) (preflight.Mountable, error)
	// Probe finds out what the store really does: store.ErrLies, beside the facts, if that is not enough. That of a claim
	// takes a pod, which a dry run doesn't make: then there are no facts.
	Probe(ctx context.Context, namespace string, d bucket.Description, s bucket.Secrets,
		retention bool) ([]store.Fact, error)
	// Drill tries a secret key on the backups of one. The key stays in this process.
	Drill(ctx context.Context, namespace string, d bucket.Description, s bucket.Secrets, identity string) (
		bucket.Drill, error)
}

// Named implements Clients.
func (l *live) Named(mode kube.DryRun) (Named, error) {
	c, err := l.client(mode)
	if err != nil {
		return nil, err
	}
	return named{c, &opener.Repositories{Client: c, Dialer: dial.NewDialer(c, portforward.New(c)),
		Image: l.HelperImage, Claims: &l.claims}, mode}, nil
}

// named keeps them in the cluster.
type named struct {
	client *kube.Client
	opener *opener.Repositories
	mode   kube.DryRun
}

func (n named) List(ctx context.Context, namespace string) ([]bucket.Description, error) {
	return repositories.List(ctx, n.client, namespace)
}

func (n named) Get(ctx context.Context, namespace, name string) (bucket.Description, error) {
	return repositories.Get(ctx, n.client, namespace, name)
}

func (n named) Secrets(ctx context.Context, namespace string, d bucket.Description) (bucket.Secrets, error) {
	return repositories.GetSecrets(ctx, n.client, namespace, d, true)
}

func (n named) Save(ctx context.Context, namespace string, d bucket.Description, s bucket.Secrets) error {
	return repositories.Save(ctx, n.client, namespace, d, s)
}

func (n named) Delete(ctx context.Context, namespace, name string) error {
	return repositories.Delete(ctx, n.client, namespace, name)
}

func (n named) Mountable(ctx context.Context, namespace, claim string) (preflight.Mountable, error) {
	return preflight.WhereMounted(ctx, n.client, namespace, claim)
}

func (n named) Probe(ctx context.Context, namespace string, d bucket.Description, s bucket.Secrets,
	retention bool) ([]store.Fact, error) {
	if _, ok := d.Claim(); ok && n.mode != kube.DryRunNone {
		return nil, nil
	}
	at, err := n.opener.Store(namespace, d, s)
	if err != nil {
		return nil, err
	}
	defer func() { _ = at.Close() }()
	facts, err := store.Probe(ctx, at, retention)
	if err != nil {
		return facts, fmt.Errorf("check repository %s: %w", d.Name, err)
	}
	return facts, nil
}

func (n named) Drill(ctx context.Context, namespace string, d bucket.Description, s bucket.Secrets, identity string) (
	bucket.Drill, error) {
	at, err := n.opener.Store(namespace, d, s)
	if err != nil {
		return bucket.Drill{}, err
	}
	r, err := bucket.OpenIn(d, s, at, namespace, "")
	if err != nil {
		_ = at.Close()
		return bucket.Drill{}, err
	}
	defer func() { _ = r.Close() }()
	out, err := r.Drill(ctx, identity)
	if err != nil {
		return out, fmt.Errorf("try the key on repository %s: %w", d.Name, err)
	}
	return out, nil
}
