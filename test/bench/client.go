package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	clientPod = "client"
	// forever keeps a pod that scripts run in.
	forever = "exec sleep 100000"
)

// startPod makes a pod and waits until it runs; it returns its address.
func (b *bench) startPod(ctx context.Context, ns string, p *corev1.Pod) (address string, err error) {
	pods := b.site.Client.CoreV1().Pods(ns)
	if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("create pod %s: %w", p.Name, err)
	}
	return address, harness.Until(ctx, healthyWithin, "pod "+p.Name, func(ctx context.Context) error {
		now, err := pods.Get(ctx, p.Name, metav1.GetOptions{})
		if err == nil && now.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("it is %s", now.Status.Phase)
		}
		if err == nil {
			address = now.Status.PodIP
		}
		return err
	})
}

// runPod takes from the pod's creation until it has succeeded.
func (b *bench) runPod(ctx context.Context, ns string, p *corev1.Pod) (time.Duration, error) {
	pods := b.site.Client.CoreV1().Pods(ns)
	began := time.Now()
	if _, err := pods.Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return 0, fmt.Errorf("create pod %s: %w", p.Name, err)
	}
	var phase corev1.PodPhase
	err := harness.Until(ctx, commandWithin, "the end of pod "+p.Name, func(ctx context.Context) error {
		now, err := pods.Get(ctx, p.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if phase = now.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			return fmt.Errorf("it is %s", phase)
		}
		return nil
	})
	if err == nil && phase == corev1.PodFailed {
		err = fmt.Errorf("pod %s failed", p.Name)
	}
	return time.Since(began), err
}

// inPod runs a shell script in a container of a pod; in the first one if none is named.
func (b *bench) inPod(ctx context.Context, ns, pod, container, script string) (string, error) {
	args := []string{"-n", ns, "exec", pod}
	if container != "" {
		args = append(args, "-c", container)
	}
	r, err := succeed(ctx, b.site.Kubectl(b.home), append(args, "--", "sh", "-c", script)...)
	return r.Stdout, err
}

// ticksScript adds up what processes of a name have used of processors, in hundredths of a second.
const ticksScript = `t=0; for p in /proc/[0-9]*; do read -r c 2>/dev/null < $p/comm && [ "$c" = %s ] && ` +
	`read -r s 2>/dev/null < $p/stat && set -- ${s##*) } && t=$((t+${12}+${13})); done; echo $t`

// processorTime is what processes of a name have used in a container so far.
func (b *bench) processorTime(ctx context.Context, ns, pod, container, name string) (time.Duration, error) {
	out, err := b.inPod(ctx, ns, pod, container, fmt.Sprintf(ticksScript, name))
	if err != nil {
		return 0, err
	}
	ticks, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return 0, fmt.Errorf("read the processor time of %s: %w", name, err)
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
