package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
)

// livePods implements pods on a real cluster.
type livePods struct {
	config *rest.Config
	core   *typed.CoreV1Client
}

func (l *live) pods() (pods, error) {
	config, err := l.config()
	if err != nil {
		return nil, err
	}
	core, err := typed.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for pods: %w", err)
	}
	return &livePods{config: config, core: core}, nil
}

// doorway opens a way into one member.
func (l *live) doorway(ctx context.Context, t *target, member string) (doorway, error) {
	config, err := l.liveConfig(runnerOptions{engine: t.engine})
	if err != nil {
		return nil, err
	}
	config.Namespace, config.Name = t.namespace, t.cluster.Name
	return executor.OpenDoorway(ctx, config, t.cluster, member)
}

// List implements pods.
func (p *livePods) List(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	list, err := p.core.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return list.Items, nil
}

// Namespaces implements pods.
func (p *livePods) Namespaces(ctx context.Context) ([]string, error) {
	list, err := p.core.Namespaces().List(ctx, metav1.ListOptions{Limit: completeMost})
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	names := make([]string, len(list.Items))
	for i, n := range list.Items {
		names[i] = n.Name
	}
	return names, nil
}

// Logs implements pods.
func (p *livePods) Logs(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	stream, err := p.core.Pods(namespace).GetLogs(pod, &o).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of pod %s: %w", pod, err)
	}
	return stream, nil
}

// Exec implements pods. It prefers WebSockets and falls back to SPDY, as kubectl does.
func (p *livePods) Exec(ctx context.Context, namespace, pod string, argv []string, s Streams, tty bool) error {
	url := p.core.RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: argv, Stdin: s.In != nil, Stdout: true, Stderr: !tty, TTY: tty}, scheme.ParameterCodec).URL()
	websocket, err := remotecommand.NewWebSocketExecutor(p.config, "GET", url.String())
	if err != nil {
		return fmt.Errorf("exec in pod %s: %w", pod, err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(p.config, "POST", url)
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
	restore, err := s.raw()
	if err != nil {
		return err
	}
	defer restore()
	o.TerminalSizeQueue = &firstSize{s: s}
	return remoteCode(executor.StreamWithContext(ctx, o))
}

// remoteCode makes the exit code of the far program our own; it has said why.
func remoteCode(err error) error {
	if exit, ok := errors.AsType[exec.CodeExitError](err); ok {
		return &outcome{exit.Code}
	}
	return err
}

// firstSize tells the far end how large the terminal is, once.
type firstSize struct {
	s    Streams
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
