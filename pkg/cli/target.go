package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// target is the cluster that a command speaks of.
type target struct {
	namespace string
	cluster   *v1alpha1.DatabaseCluster
	engine    engine.Engine
	store     kube.Store
	// lost: the record is missing, and cluster is what its copy says.
	lost bool
}

// subject is TYPE/name.
func (t *target) subject() string { return t.cluster.Spec.Engine + "/" + t.cluster.Name }

// target finds the named cluster, or the only one of the namespace.
func (f *Factory) target(ctx context.Context, args []string) (*target, error) {
	t := &target{}
	var err error
	if t.namespace, t.store, err = f.here(); err != nil {
		return nil, err
	}
	if len(args) > 0 {
		name := bareName(args[0])
		t.cluster, err = t.store.GetCluster(ctx, t.namespace, name)
		switch {
		case errors.Is(err, kube.ErrDamaged):
			if what := f.missing(ctx, t.namespace, name); !errors.Is(what, errNoObjects) {
				err = what
			}
		case errors.Is(err, kube.ErrNotFound):
			if err := f.missing(ctx, t.namespace, name); !errors.Is(err, errNoObjects) {
				return nil, err
			}
			return nil, &ops.Error{Kind: ops.Failed, Check: checkNotFound, Message: fmt.Sprintf("cluster %s not found in namespace %s", name, t.namespace),
				Hint: displayName + " list -A shows all clusters"}
		}
	} else {
		t.cluster, err = f.only(ctx, t.store, t.namespace)
	}
	if err != nil {
		return nil, err
	}
	t.engine, err = f.engineNamed(t.cluster.Spec.Engine)
	return t, err
}

// bareName is the name of what TYPE/name says, as this program prints it.
func bareName(printed string) string { return printed[strings.LastIndex(printed, "/")+1:] }

// targets are the clusters meant: the one that is named, else all of the
// namespace or of all namespaces. None at all is an error.
func (f *Factory) targets(ctx context.Context, args []string, all bool) ([]*target, error) {
	if len(args) > 0 {
		t, err := f.target(ctx, args)
		return []*target{t}, err
	}
	namespace, store, err := f.here()
	if err != nil {
		return nil, err
	}
	if all {
		namespace = metav1.NamespaceAll
	}
	clusters, err := store.ListClusters(ctx, namespace, "")
	switch {
	case errors.Is(err, kube.ErrDamaged) && len(clusters) > 0:
		f.note("left out: %s", oneLine(err.Error()))
	case err != nil:
		return nil, err
	}
	var out []*target
	for i := range clusters {
		e, err := f.engineNamed(clusters[i].Spec.Engine)
		if err != nil {
			return nil, err
		}
		out = append(out, &target{namespace: clusters[i].Namespace, cluster: &clusters[i], engine: e, store: store})
	}
	if len(out) == 0 {
		_, err := f.only(ctx, store, namespace)
		return nil, err
	}
	return out, nil
}

// only is the cluster meant when none is named.
func (f *Factory) only(ctx context.Context, store kube.Store, namespace string) (*v1alpha1.DatabaseCluster, error) {
	clusters, err := store.ListClusters(ctx, namespace, "")
	if len(clusters) == 0 && (err == nil || errors.Is(err, kube.ErrDamaged)) {
		if err := f.missingHere(ctx, namespace); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	switch len(clusters) {
	case 1:
		return &clusters[0], nil
	case 0:
		return nil, &ops.Error{Kind: ops.Failed, Check: checkNotFound, Message: "there is no cluster in namespace " + namespace,
			Hint: displayName + " list -A shows all clusters"}
	}
	return nil, misuse("namespace %s holds %d clusters, name one of: %s", namespace, len(clusters), strings.Join(namesOf(clusters), ", "))
}

func namesOf(clusters []v1alpha1.DatabaseCluster) []string {
	names := make([]string, len(clusters))
	for i := range clusters {
		names[i] = clusters[i].Name
	}
	return names
}

// operation begins the record of a request.
func (f *Factory) operation(ctx context.Context, verb v1alpha1.Verb, cluster string) v1alpha1.OperationSpec {
	return f.signed(ctx, v1alpha1.OperationSpec{Cluster: cluster, Verb: verb})
}

// signed says in a request who asks for it, and how.
func (f *Factory) signed(ctx context.Context, spec v1alpha1.OperationSpec) v1alpha1.OperationSpec {
	host, err := os.Hostname()
	if err != nil {
		host = unknown
	}
	spec.RequestedBy, spec.RequestedFrom, spec.Command = f.Clients.Whoami(ctx), host, f.asked
	return spec
}

// backupTo names the backup that an operation makes, before its first byte.
func (f *Factory) backupTo(spec *v1alpha1.OperationSpec, flag string, c *v1alpha1.DatabaseCluster) error {
	at, err := f.location(flag, c)
	if err != nil {
		return err
	}
	id, err := repository.NewID(spec.Cluster, f.Now(), f.Random)
	if err != nil {
		return err
	}
	spec.Repository, spec.Backup = at.String(), id
	return nil
}
