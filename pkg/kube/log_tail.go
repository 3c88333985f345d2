package kube

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
)

// The bounds of what is read of a log.
const (
	tailLines int64 = 1
	tailBytes int64 = 2 << 10
)

// LastLine is the last line that a container of a pod wrote, cut to 2 KiB; "" where it wrote none. It is text of
// the pod: who prints it bounds it.
func (c *Client) LastLine(ctx context.Context, namespace, pod, container string) (string, error) {
	if c.config == nil {
		return "", nil
	}
	pods, err := typed.NewForConfig(c.config)
	if err != nil {
		return "", fmt.Errorf("read the log of pod %s: %w", pod, err)
	}
	lines, bytes := tailLines, tailBytes
	text, err := pods.Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container, TailLines: &lines,
		LimitBytes: &bytes}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read the log of pod %s: %w", pod, err)
	}
	return strings.TrimSpace(string(text)), nil
}
