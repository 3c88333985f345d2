package clients

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
)

func (l *live) newCore() (*typed.CoreV1Client, error) {
	config, err := l.Rest()
	if err != nil {
		return nil, err
	}
	core, err := typed.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for pods: %w", err)
	}
	return core, nil
}

// Pods implements Clients.
func (l *live) Pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	core, err := l.core()
	if err != nil {
		return nil, err
	}
	list, err := core.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return list.Items, nil
}

// mostNamespaces bounds a list that only suggests.
const mostNamespaces = 100

// Namespaces implements Clients.
func (l *live) Namespaces(ctx context.Context) ([]string, error) {
	core, err := l.core()
	if err != nil {
		return nil, err
	}
	list, err := core.Namespaces().List(ctx, metav1.ListOptions{Limit: mostNamespaces})
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	names := make([]string, len(list.Items))
	for i, n := range list.Items {
		names[i] = n.Name
	}
	return names, nil
}

// Logs implements Clients.
func (l *live) Logs(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	core, err := l.core()
	if err != nil {
		return nil, err
	}
	stream, err := core.Pods(namespace).GetLogs(pod, &o).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of pod %s: %w", pod, err)
	}
	return stream, nil
}

// Exec implements Clients. It prefers WebSockets and falls back to SPDY, as kubectl does.
func (l *live) Exec(ctx context.Context, namespace, pod string, argv []string, s progress.Streams, tty bool) error {
	config, err := l.Rest()
	if err != nil {
		return err
	}
	core, err := l.core()
	if err != nil {
		return err
	}
	url := core.RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: argv, Stdin: s.In != nil, Stdout: true, Stderr: !tty, TTY: tty},
			scheme.ParameterCodec).URL()
	websocket, err := remotecommand.NewWebSocketExecutor(config, "GET", url.String())
	if err != nil {
		return fmt.Errorf("exec in pod %s: %w", pod, err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, "POST", url)
	if err != nil {
		return fmt.Errorf("exec in pod %s: %w", pod, err)
	}
	executor, err := remotecommand.NewFallbackExecutor(websocket, spdy, httpstream.IsUpgradeFailure)
	if err != nil {
		return fmt.Errorf("exec in pod %s: %w", pod, err)
	}
	o := remotecommand.StreamOptions{Stdin: s.In, Stdout: s.Out, Tty: tty}
	if !tty {
		o.Stderr = s.Err
		return remoteCode(executor.StreamWithContext(ctx, o))
	}
	restore, err := s.Raw()
	if err != nil {
		return err
	}
	defer restore()
	o.TerminalSizeQueue = &firstSize{s: s}
	return remoteCode(executor.StreamWithContext(ctx, o))
}

// remoteCode makes the exit code of the far program our own; it has said why.
func remoteCode(err error) error {
	if failed, ok := errors.AsType[exec.CodeExitError](err); ok {
		return exit.Outcome(failed.Code)
	}
	return err
}

// firstSize tells the far end how large the terminal is, once.
type firstSize struct {
	s    progress.Streams
	told bool
}

// Next implements remotecommand.TerminalSizeQueue.
func (q *firstSize) Next() *remotecommand.TerminalSize {
	if q.told {
		return nil
	}
	q.told = true
	width, height := q.s.Size()
	return &remotecommand.TerminalSize{Width: uint16(width), Height: uint16(height)} // #nosec G115 -- terminals are small
}
