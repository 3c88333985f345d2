package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// barProxied is the bar of 0.95 of HAProxy's throughput, as the ratio of HAProxy's to ours.
const barProxied = 1 / 0.95

// ways are all that are compared, in the order of the first round.
func ways() []way { return []way{byAgents, byHAProxy, byOne, byNone} }

// proxied is one measurement of the ways on which something passes clients on, and of the one where nothing does.
type proxied struct{ traffic }

// throughProxy compares what a client gets through the agents with what it gets through HAProxy in their place, and
// with none between.
func throughProxy(of func() (clients, error)) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		c, err := of()
		if err != nil {
			return err
		}
		return b.inNamespace(ctx, func(ns string) error {
			p := &proxied{traffic{bench: b, clients: c, ns: ns, requests: map[string]int{}}}
			if err := p.begin(ctx); err != nil {
				return err
			}
			for _, kind := range p.kinds {
				if err := p.compare(ctx, kind); err != nil {
					return fmt.Errorf("%s: %w", kind.name, err)
				}
			}
			return nil
		})
	}
}

// begin makes three members, and a client and HAProxy on the node of the primary.
func (p *proxied) begin(ctx context.Context) error {
	pod, err := p.members(ctx)
	if err != nil {
		return err
	}
	core := p.site.Client.CoreV1()
	port := corev1.ServicePort{Port: int32(p.port), TargetPort: intstr.FromString("primary")} // #nosec G115 -- it fits
	agents, err := core.Services(p.ns).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "agents"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{v1alpha1.LabelCluster: "db"},
			Ports: []corev1.ServicePort{port}}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the service of the agents: %w", err)
	}
	nodes := []string{pod.Spec.NodeName}
	for i := range 3 {
		if name := fmt.Sprintf("db-%d-0", i+1); name != pod.Name {
			other, err := core.Pods(p.ns).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("find a member: %w", err)
			}
			nodes = append(nodes, other.Spec.NodeName)
		}
	}
	all, each, err := p.startHAProxies(ctx, p.ns, nodes, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(p.port)),
		p.to.Image)
	if err != nil {
		return err
	}
	p.hosts = map[way]string{byAgents: agents.Spec.ClusterIP, byHAProxy: all, byOne: each[0], byNone: pod.Status.PodIP}
	p.ports = map[way]int{byAgents: p.port, byHAProxy: haproxyPort, byOne: haproxyPort, byNone: p.port}
	return p.client(ctx, pod.Spec.NodeName)
}

// took is one run: how many requests a second, and what part of a processor agents and HAProxy used meanwhile.
type took struct{ rate, agents, haproxy float64 }

// compare sends requests of one kind all ways, each round beginning with another way.
func (p *proxied) compare(ctx context.Context, kind stress) error {
	if err := p.calibrate(ctx, kind, ways()); err != nil {
		return err
	}
	rates := map[way]*samples{}
	for _, w := range ways() {
		rates[w] = &samples{}
	}
	var place, one, direct, agents, haproxy samples
	for round := range p.rounds {
		got := map[way]took{}
		for i, all := 0, ways(); i < len(all); i++ {
			w := all[(round+i)%len(all)]
			t, err := p.measured(ctx, w, kind)
			if err != nil {
				return err
			}
			got[w] = t
			*rates[w] = append(*rates[w], t.rate)
		}
		ours := got[byAgents].rate
		place = append(place, got[byHAProxy].rate/ours)
		one = append(one, got[byOne].rate/ours)
		direct = append(direct, got[byNone].rate/ours)
		// Agents work a little where nothing passes them, too.
		agents = append(agents, 1e6*(got[byAgents].agents-got[byNone].agents)/ours)
		haproxy = append(haproxy, 1e6*got[byHAProxy].haproxy/got[byHAProxy].rate)
		fmt.Printf("%s: %.0f a second through agents, %.0f and %.0f through HAProxy, %.0f to the pod; "+
			"%.1f and %.1f µs\n", kind.name, ours, got[byHAProxy].rate, got[byOne].rate, got[byNone].rate,
			agents[round], haproxy[round])
	}
	spread := func(w way, ratios samples) string {
		return fmt.Sprintf("through agents: %s; %s: %s; single rounds: %s", rates[byAgents].spread("a second"), w,
			rates[w].spread("a second"), ratios.spread("ratio"))
	}
	what := kind.name + ", requests a second, "
	p.rows.judged(what+"through HAProxy in the agents' place ÷ through the agents", place.median(), "ratio", barProxied,
		spread(byHAProxy, place))
	p.rows.judged(what+"through one HAProxy beside the primary ÷ through the agents", one.median(), "ratio", barProxied,
		spread(byOne, one))
	p.rows.plain(what+"to the primary's pod ÷ through the agents", direct.median(), "ratio", spread(byNone, direct))
	if kind.reads {
		p.rows.plain(kind.name+", processor time of a request in agents ÷ in HAProxy in their place",
			agents.median()/haproxy.median(), "ratio", "agents: "+agents.spread("µs")+"; HAProxy: "+haproxy.spread("µs"))
	}
	return nil
}

// measured is one run.
func (p *proxied) measured(ctx context.Context, w way, kind stress) (t took, err error) {
	agents, haproxy, err := p.used(ctx)
	if err != nil {
		return t, err
	}
	began := time.Now()
	if t.rate, err = p.rate(ctx, w, kind); err != nil {
		return t, err
	}
	length := time.Since(began)
	after, haproxyAfter, err := p.used(ctx)
	t.agents, t.haproxy = (after-agents).Seconds()/length.Seconds(), (haproxyAfter-haproxy).Seconds()/length.Seconds()
	return t, err
}

// used is what all agents, and all of HAProxy, have used of processors so far.
func (p *proxied) used(ctx context.Context) (agents, haproxy time.Duration, err error) {
	var group errgroup.Group
	var ours, theirs [3]time.Duration
	for i := range ours {
		group.Go(func() (err error) {
			ours[i], err = p.processorTime(ctx, p.ns, fmt.Sprintf("db-%d-0", i+1), "", "dbop-agent")
			return err
		})
		group.Go(func() (err error) {
			theirs[i], err = p.processorTime(ctx, p.ns, haproxyName(i), besidePod, haproxyProcess)
			return err
		})
	}
	err = group.Wait()
	for i := range ours {
		agents, haproxy = agents+ours[i], haproxy+theirs[i]
	}
	return agents, haproxy, err
}
