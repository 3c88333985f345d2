package preflight

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Limit is one rule of a LimitRange of the namespace.
type Limit struct {
	// Range is the name of the LimitRange.
	Range                 string `json:"range"`
	corev1.LimitRangeItem `json:",inline"`
}

func readLimits(ctx context.Context, c *kube.Client, namespace string, p *Report) error {
	var list corev1.LimitRangeList
	err := c.API.List(ctx, &list, client.InNamespace(namespace))
	if err != nil {
		p.LimitsUnknown, err = Unreadable(err)
		return err
	}
	for i := range list.Items {
		for _, item := range list.Items[i].Spec.Limits {
			p.Limits = append(p.Limits, Limit{Range: list.Items[i].Name, LimitRangeItem: item})
		}
	}
	slices.SortStableFunc(p.Limits, func(a, b Limit) int { return cmp.Compare(a.Range, b.Range) })
	return nil
}
