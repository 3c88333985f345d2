package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// stressFor is how long one run of requests takes.
	stressFor = 3 * time.Second
	// tryRequests are enough to learn how fast requests go.
	tryRequests = 20_000
)

// way is how requests come to the primary.
type way string

const (
	// byAgents is a service that all members answer, as the client service is by default.
	byAgents way = "the agents"
	// byService is the client service of a cluster that leads clients straight to its primary.
	byService way = "the client service"
	// byHAProxy is a service in front of HAProxy beside each member: in the place of the agents.
	byHAProxy way = "HAProxy in their place"
	// byOne is the pod of HAProxy on the node of the primary.
	byOne  way = "one HAProxy beside the primary"
	byNone way = "the primary's pod"
)

// stress is a program in a pod that sends requests of one kind.
type stress struct {
	name string
	// script sends them to $HOST at $PORT, for $LENGTH or until there were $REQUESTS.
	script string
	// rate reads in what it printed how many there were in a second.
	rate func(out string) (float64, error)
	// reads says that nothing is written: agents then have nothing to do but to pass it.
	reads bool
}

// clients are the programs that send requests to an engine.
type clients struct {
	agreed
	// image holds them; spec says what else their pod has, without a script.
	spec func(ns string) harness.PodWriterSpec
	port int
	// prepare makes what they ask for.
	prepare string
	kinds   []stress
}

// traffic is what clients of one cluster send, by several ways.
type traffic struct {
	*bench
	clients
	ns    string
	hosts map[way]string
	ports map[way]int
	// requests are how many of a kind take about stressFor.
	requests map[string]int
}

// members makes three, whose client service leads straight to the primary, and returns the pod of that.
func (t *traffic) members(ctx context.Context) (*corev1.Pod, error) {
	if _, err := t.dbop(ctx, "create", "db", "--engine", t.name, "--version", t.to.Version, "--image", t.to.Image,
		"--members", "3", "--storage", "8Gi", "--routing", "direct", "-n", t.ns); err != nil {
		return nil, err
	}
	primary, err := t.primary(ctx, t.ns)
	if err != nil {
		return nil, err
	}
	pod, err := t.site.Client.CoreV1().Pods(t.ns).Get(ctx, primary+"-0", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("find the primary: %w", err)
	}
	return pod, nil
}

// client starts the pod of a client on a node, and makes what it asks for.
func (t *traffic) client(ctx context.Context, node string) error {
	spec := t.spec(t.ns)
	spec.Node, spec.Script = node, forever
	if _, err := t.startPod(ctx, t.ns, spec.Pod(clientPod)); err != nil {
		return err
	}
	_, err := t.run(ctx, byNone, t.prepare, stressFor, tryRequests)
	return err
}

// run runs a script of a client one way.
func (t *traffic) run(ctx context.Context, w way, script string, length time.Duration, requests int) (string, error) {
	return t.inPod(ctx, t.ns, clientPod, "", fmt.Sprintf("HOST=%s; PORT=%d; LENGTH=%d; REQUESTS=%d; %s",
		t.hosts[w], t.ports[w], int(length.Seconds()), requests, script))
}

// calibrate learns how many requests take about as long as a run shall, and tries each way.
func (t *traffic) calibrate(ctx context.Context, kind stress, ways []way) error {
	for _, w := range ways {
		out, err := t.run(ctx, w, kind.script, time.Second, tryRequests)
		if err != nil {
			return err
		}
		rate, err := kind.rate(out)
		if err != nil {
			return err
		}
		t.requests[kind.name] = int(rate * stressFor.Seconds())
	}
	return nil
}

// rate is how many requests a second one run made.
func (t *traffic) rate(ctx context.Context, w way, kind stress) (float64, error) {
	out, err := t.run(ctx, w, kind.script, stressFor, t.requests[kind.name])
	if err != nil {
		return 0, err
	}
	return kind.rate(out)
}
