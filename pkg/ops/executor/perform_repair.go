package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// made is what the objects of a cluster are compared with. A template is
// compared whole if it was rendered from the same things as now; which peers it
// names depends on when that was, so these are read from it.
func (l *Executor) made(ctx context.Context, c *v1alpha1.DatabaseCluster) observe.Rendered {
	digest := l.Rendering(c)
	limiter, limits := l.Engine.(engine.JoinLimiter)
	rendered := observe.Rendered{Ports: l.Engine.Ports(c), Archive: l.madeArchive(ctx, c), Workload: func(member string,
		live *appsv1.StatefulSet) (*appsv1.StatefulSet, bool) {
		peers := []string{member}
		if reader, ok := l.Engine.(engine.TemplateReader); ok {
			peers = reader.TemplatePeers(c, live.Spec.Template)
		}
		t := told{member: member, peers: peers, bootstrap: live.Annotations[kube.AnnotationBootstrap] == "true"}
		if limits {
			t.joinLimit = limiter.JoinLimit(c.Spec.Version, live.Spec.Template.Spec)
		}
		in, err := l.workload(c, t)
		if err == nil {
			return workload.Build(in), digest != "" && live.Annotations[kube.AnnotationRendering] == digest
		}
		if in, err = l.workload(c, told{member: member, peers: []string{member}}); err == nil {
			return workload.Build(in), false
		}
		return nil, false
	}}
	if limits {
		rendered.JoinLimit = limiter.JoinLimit
	}
	return rendered
}

// repair writes one object as this tool makes it.
func (l *Executor) repair(ctx context.Context, t task) error {
	object := t.Touches[0]
	kind, name, _ := strings.Cut(object, "/")
	var err error
	switch kind {
	case health.KindService, health.KindAccount, health.KindRole, health.KindBinding:
		err = l.applyServices(ctx, t)
	case health.KindBudget:
		err = workload.ApplyBudget(ctx, l.Client, t.Cluster, ops.BudgetOf(l.Engine, t.State))
	case health.KindVolume:
		err = l.applyVolume(ctx, t.State, t.Member())
	case health.KindWorkload:
		err = l.renderAgain(ctx, t.State, t.Member())
	case health.KindPod:
		err = workload.LabelPod(ctx, l.Client, t.Cluster, t.Member())
	case health.KindSecret:
		err = l.repairSecret(ctx, t.State, name, t.Member())
	default:
		err = fmt.Errorf("no way to put back a %s", kind)
	}
	if err != nil {
		return fmt.Errorf("put back %s: %w", object, err)
	}
	return nil
}

// repairSecret puts labels and owners of a secret right, and issues a
// certificate that is missing or can't be used. What the authority's own
// secret holds is never written here.
func (l *Executor) repairSecret(ctx context.Context, s ops.State, name, member string) error {
	if err := pki.RepairSecret(ctx, l.Client, s.Cluster, name, member); err != nil {
		return err
	}
	broken := slices.ContainsFunc(s.Kube.Differences, func(d drift.Difference) bool {
		return d.Object == health.KindSecret+"/"+name && (d.Kind == drift.Missing || d.Kind == drift.Unusable)
	})
	if !broken || name == v1alpha1.CASecret(s.Cluster.Name) {
		return nil
	}
	order := pki.LeafOrder{Secret: name, Use: pki.UseMember, Member: member}
	switch name {
	case v1alpha1.AdminSecret(s.Cluster.Name):
		order.Use = pki.UseAdmin
	case v1alpha1.ClientSecret(s.Cluster.Name):
		order.Use = pki.UseClient
	}
	_, err := pki.RenewLeaf(ctx, l.Client, s.Cluster, order)
	return err
}
