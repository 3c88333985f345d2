package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Target finds the named cluster, or the only one of the namespace.
func (f *Factory) Target(ctx context.Context, args []string) (*clients.Target, error) {
	t := &clients.Target{}
	var err error
	if t.Namespace, t.Store, err = f.Here(); err != nil {
		return nil, err
	}
	if len(args) > 0 {
		name := BareName(args[0])
		t.Cluster, err = t.Store.GetCluster(ctx, t.Namespace, name)
		switch {
		case errors.Is(err, store.ErrDamaged):
			if what := f.missing(ctx, t.Namespace, name); !errors.Is(what, errNoObjects) {
				err = what
			}
		case errors.Is(err, kube.ErrNotFound):
			if err := f.missing(ctx, t.Namespace, name); !errors.Is(err, errNoObjects) {
				return nil, err
			}
			return nil,
				&ops.Error{Kind: ops.Failed, Check: exit.CheckNotFound,
					Message: fmt.Sprintf("cluster %s not found in namespace %s", name, t.Namespace),
					Hint:    DisplayName + " list -A shows all clusters"}
		}
	} else {
		t.Cluster, err = f.only(ctx, t.Store, t.Namespace)
	}
	if err != nil {
		return nil, err
	}
	t.Engine, err = f.EngineNamed(t.Cluster.Spec.Engine)
	return t, err
}

// BareName is the name of what TYPE/name says, as this program prints it.
func BareName(printed string) string { return printed[strings.LastIndex(printed, "/")+1:] }

// Targets are the clusters meant: the one that is named, else all of the
// namespace or of all namespaces. None at all is an error.
func (f *Factory) Targets(ctx context.Context, args []string, all bool) ([]*clients.Target, error) {
	if len(args) > 0 {
		t, err := f.Target(ctx, args)
		return []*clients.Target{t}, err
	}
	namespace, records, err := f.Here()
	if err != nil {
		return nil, err
	}
	if all {
		namespace = metav1.NamespaceAll
	}
	clusters, err := records.ListClusters(ctx, namespace, "")
	switch {
	case errors.Is(err, store.ErrDamaged) && len(clusters) > 0:
		f.Note("left out: %s", printer.OneLine(err.Error()))
	case err != nil:
		return nil, err
	}
	var out []*clients.Target
	for i := range clusters {
		e, err := f.EngineNamed(clusters[i].Spec.Engine)
		if err != nil {
			return nil, err
		}
		out = append(out,
			&clients.Target{Namespace: clusters[i].Namespace, Cluster: &clusters[i], Engine: e, Store: records})
	}
	if len(out) == 0 {
		_, err := f.only(ctx, records, namespace)
		return nil, err
	}
	return out, nil
}

// only is the cluster meant when none is named.
func (f *Factory) only(ctx context.Context, records store.Store, namespace string) (*v1alpha1.DatabaseCluster, error) {
	clusters, err := records.ListClusters(ctx, namespace, "")
	if len(clusters) == 0 && (err == nil || errors.Is(err, store.ErrDamaged)) {
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
		return nil,
			&ops.Error{Kind: ops.Failed, Check: exit.CheckNotFound, Message: "there is no cluster in namespace " + namespace,
				Hint: DisplayName + " list -A shows all clusters"}
	}
	return nil,
		exit.Misuse("namespace %s holds %d clusters, name one of: %s", namespace, len(clusters),
			strings.Join(namesOf(clusters), ", "))
}

func namesOf(clusters []v1alpha1.DatabaseCluster) []string {
	names := make([]string, len(clusters))
	for i := range clusters {
		names[i] = clusters[i].Name
	}
	return names
}

// Operation begins the record of a request.
func (f *Factory) Operation(ctx context.Context, verb v1alpha1.Verb, cluster string) v1alpha1.OperationSpec {
	return f.Signed(ctx, v1alpha1.OperationSpec{Cluster: cluster, Verb: verb})
}

// Signed says in a request who asks for it, and how.
func (f *Factory) Signed(ctx context.Context, spec v1alpha1.OperationSpec) v1alpha1.OperationSpec {
	host, err := os.Hostname()
	if err != nil {
		host = printer.Unknown
	}
	spec.RequestedBy, spec.RequestedFrom, spec.Command = f.Clients.Whoami(ctx), host, f.Asked
	return spec
}

// BackupTo names the backup that an operation makes, before its first byte.
func (f *Factory) BackupTo(spec *v1alpha1.OperationSpec, flag string, c *v1alpha1.DatabaseCluster) error {
	at, err := f.Location(flag, c)
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

// DeletionTarget finds the cluster, or, where a deletion died after dropping
// it, what its record says of it.
func DeletionTarget(ctx context.Context, f *Factory, args []string) (*clients.Target, error) {
	t, err := f.Target(ctx, args)
	if err == nil || ops.KindOf(err) != ops.Failed || t != nil {
		return t, err
	}
	namespace, _ := f.Namespace()
	records, storeErr := f.Clients.Store(kube.DryRunClient)
	if storeErr != nil {
		return nil, err
	}
	flight, opErr := runner.FlightOf(ctx, records, namespace, args[0])
	op := flight.Ordinary
	if opErr != nil || op == nil || op.Spec.Verb != v1alpha1.VerbDelete || len(f.Engines) == 0 {
		return nil, err
	}
	// Only the record is left to close, which any engine can do.
	e := f.Engines[0]
	if named, err := f.EngineNamed(op.Labels[v1alpha1.LabelEngine]); err == nil {
		e = named
	}
	gone := &v1alpha1.DatabaseCluster{}
	gone.Name, gone.Namespace, gone.Spec.Engine = args[0], namespace, e.Name()
	return &clients.Target{Namespace: namespace, Cluster: gone, Engine: e, Store: records}, nil
}
