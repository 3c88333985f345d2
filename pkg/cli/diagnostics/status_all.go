package diagnostics

import (
	"context"
	"errors"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
)

// several is the namespace, if no cluster is named and it holds more than one;
// "" otherwise.
func several(ctx context.Context, f *command.Factory, args []string) (string, error) {
	if len(args) > 0 {
		return "", nil
	}
	namespace, records, err := f.Here()
	if err != nil {
		return "", err
	}
	clusters, err := records.ListClusters(ctx, namespace, "")
	if len(clusters) == 0 && errors.Is(err, store.ErrDamaged) {
		return "", nil // what searches for the only one says more
	}
	if len(clusters) < 2 {
		return "", err
	}
	return namespace, nil
}

// runStatusOfAll lists the clusters of a namespace or of all, and what is wrong
// with any of them. One record that can't be read hides no other.
func runStatusOfAll(ctx context.Context, f *command.Factory, out *printer.Output, namespace string, watch bool,
	timeout time.Duration) error {
	records, err := f.Clients.Store(kube.DryRunClient)
	if err != nil {
		return err
	}
	for {
		clusters, damaged := records.ListClusters(ctx, namespace, "")
		if damaged != nil && !errors.Is(damaged, store.ErrDamaged) {
			return damaged
		}
		found, err := observeAll(ctx, f, clusters, timeout, func(*v1alpha1.DatabaseCluster) bool { return true })
		if err != nil {
			return err
		}
		if err := showAll(ctx, f, out, namespace, found, watch); err != nil {
			return err
		}
		if damaged != nil || !watch {
			return errors.Join(damaged, worst(found))
		}
		select {
		case <-ctx.Done():
			return exit.Outcome(exit.Interrupted)
		case <-time.After(watchEvery):
		}
	}
}

func showAll(ctx context.Context, f *command.Factory, out *printer.Output, namespace string, found []observation,
	watch bool) error {
	if !out.Human() {
		var sheets []statusSheet
		for _, l := range found {
			if l.sheet != nil {
				sheets = append(sheets, *l.sheet)
			}
		}
		return out.Print(f.Results(), "ClusterStatusList", printer.List[statusSheet]{Items: sheets})
	}
	if len(found) == 0 {
		f.NoResources(namespace)
		return nil
	}
	pods, err := memberPods(ctx, f, namespace)
	if err != nil {
		return err
	}
	clusters, states := make([]v1alpha1.DatabaseCluster, len(found)), make([]string, len(found))
	for i, l := range found {
		clusters[i], states[i] = *l.target.Cluster, l.state()
	}
	all := namespace == metav1.NamespaceAll
	return redraw(f, watch, func(w io.Writer) error {
		if err := clusterTable(f, clusters, pods, states, all, out).Print(w, ""); err != nil {
			return err
		}
		printProblems(w, f.OutPalette(), found, all)
		return nil
	})
}
