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
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// made is what the objects of a cluster are compared with. A template is
// compared whole if it was rendered from the same things as now; which peers it
// names depends on when that was, so these are read from it.
func (l *Live) made(c *v1alpha1.DatabaseCluster) kube.Rendered {
	digest := l.rendering(c)
	return kube.Rendered{Ports: l.Engine.Ports(c), Workload: func(member string, live *appsv1.StatefulSet) (*appsv1.StatefulSet, bool) {
		peers := []string{member}
		if reader, ok := l.Engine.(engine.TemplateReader); ok {
			peers = reader.TemplatePeers(c, live.Spec.Template)
		}
		in, err := l.workload(c, member, peers, live.Annotations[kube.AnnotationBootstrap] == "true")
		if err == nil {
			return kube.BuildWorkload(in), digest != "" && live.Annotations[kube.AnnotationRendering] == digest
		}
		if in, err = l.workload(c, member, []string{member}, false); err == nil {
			return kube.BuildWorkload(in), false
		}
		return nil, false
	}}
}

// repair writes one object as this tool makes it.
func (l *Live) repair(ctx context.Context, s ops.State, object, member string) error {
	kind, name, _ := strings.Cut(object, "/")
	var err error
	switch kind {
	case health.KindService:
		err = l.Client.ApplyServices(ctx, s.Cluster, l.Engine.Ports(s.Cluster))
	case health.KindBudget:
		err = l.Client.ApplyBudget(ctx, s.Cluster, ops.QuorumOf(s))
	case health.KindVolume:
		err = l.applyVolume(ctx, s, member)
	case health.KindWorkload:
		err = l.renderAnew(ctx, s, member)
	case health.KindPod:
		err = l.Client.LabelPod(ctx, s.Cluster, member)
	case health.KindSecret:
		err = l.repairSecret(ctx, s, name, member)
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
func (l *Live) repairSecret(ctx context.Context, s ops.State, name, member string) error {
	if err := l.Client.MendSecret(ctx, s.Cluster, name, member); err != nil {
		return err
	}
	broken := slices.ContainsFunc(s.Kube.Differences, func(d kube.Difference) bool {
		return d.Object == health.KindSecret+"/"+name && (d.Kind == kube.DifferenceMissing || d.Kind == kube.DifferenceUnusable)
	})
	if !broken || name == v1alpha1.CASecret(s.Cluster.Name) {
		return nil
	}
	order := kube.LeafOrder{Secret: name, Use: kube.UseMember, Member: member}
	switch name {
	case v1alpha1.AdminSecret(s.Cluster.Name):
		order.Use = kube.UseAdmin
	case v1alpha1.ClientSecret(s.Cluster.Name):
		order.Use = kube.UseClient
	}
	_, err := l.Client.RenewLeaf(ctx, s.Cluster, order)
	return err
}
