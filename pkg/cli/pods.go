package cli

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// pods is what the commands for people need of pods, past what operations do.
type pods interface {
	// List by label selector; "" is all namespaces.
	List(ctx context.Context, namespace, selector string) ([]corev1.Pod, error)
	// Logs streams the log of one pod.
	Logs(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error)
	// Namespaces are the names of all namespaces that may be listed.
	Namespaces(ctx context.Context) ([]string, error)
	// Exec runs a command in a pod, attached to the streams; tty asks for a terminal.
	Exec(ctx context.Context, namespace, pod string, argv []string, s Streams, tty bool) error
}
