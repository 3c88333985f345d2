package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// barDirect is that of 0.97 of what the primary's pod does, as the ratio of the pod's to the service's.
	barDirect = 1 / 0.97
	// directRounds is how many rounds each repeat has. Client and server share the processors, and nothing of ours is
	// between them: single rounds differ by more than the bar.
	directRounds = 4
)

// straight compares what a client gets through the client service, which leads straight to the primary, with what it
// gets from the primary's pod. A round takes each way twice, in an order that favours none of them.
func straight(of func() (clients, error)) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		c, err := of()
		if err != nil {
			return err
		}
		return b.inNamespace(ctx, func(ns string) error {
			t := &traffic{bench: b, clients: c, ns: ns, requests: map[string]int{}}
			pod, err := t.members(ctx)
			if err != nil {
				return err
			}
			service, err := b.site.Client.CoreV1().Services(ns).Get(ctx, "db-client", metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("find the service of clients: %w", err)
			}
			t.hosts = map[way]string{byService: service.Spec.ClusterIP, byNone: pod.Status.PodIP}
			t.ports = map[way]int{byService: t.port, byNone: t.port}
			if err := t.client(ctx, pod.Spec.NodeName); err != nil {
				return err
			}
			for _, kind := range t.kinds {
				if err := t.straight(ctx, kind); err != nil {
					return fmt.Errorf("%s: %w", kind.name, err)
				}
			}
			return nil
		})
	}
}

func (t *traffic) straight(ctx context.Context, kind stress) error {
	if err := t.calibrate(ctx, kind, []way{byService, byNone}); err != nil {
		return err
	}
	rates := map[way]*samples{byService: {}, byNone: {}}
	var ratios samples
	for range t.repeats * directRounds {
		sum := map[way]float64{}
		for _, w := range []way{byService, byNone, byNone, byService} {
			rate, err := t.rate(ctx, w, kind)
			if err != nil {
				return err
			}
			*rates[w] = append(*rates[w], rate)
			sum[w] += rate
		}
		ratios = append(ratios, sum[byNone]/sum[byService])
		fmt.Printf("%s: %.0f a second through the service, %.0f to the pod\n", kind.name, sum[byService]/2,
			sum[byNone]/2)
	}
	t.rows.judged(kind.name+", requests a second, to the primary's pod ÷ through the service that leads straight to it",
		ratios.median(), "ratio", barDirect, fmt.Sprintf("the service: %s; the pod: %s; %d rounds: %s",
			rates[byService].spread("a second"), rates[byNone].spread("a second"), len(ratios), ratios.spread("ratio")))
	return nil
}
