package opstest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
)

// Helper returns a helper pod, nil if there is none.
func (b *Bench) Helper(name string) *corev1.Pod {
	b.T.Helper()
	p := &corev1.Pod{}
	if !b.Exists(p, name) {
		return nil
	}
	return p
}

// Only returns the one helper pod that there is.
func (b *Bench) Only() *corev1.Pod {
	b.T.Helper()
	l := &corev1.PodList{}
	b.Must(b.Server.Raw.List(b.T.Context(), l))
	l.Items = slices.DeleteFunc(l.Items, func(p corev1.Pod) bool { return p.Labels["dbop.dev/purpose"] == "" })
	if len(l.Items) != 1 {
		b.T.Fatalf("%d helper pods", len(l.Items))
	}
	return &l.Items[0]
}

// Becomes sets the status of a pod.
func (b *Bench) Becomes(name string, status corev1.PodStatus) {
	b.T.Helper()
	Edit(b, &corev1.Pod{}, name, func(p *corev1.Pod) { p.Status = status })
}

// Ended is the status of a pod whose container ended with a code and a message.
func Ended(p *corev1.Pod, code int32, message string) corev1.PodStatus {
	s := Started(p, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}})
	s.Phase = corev1.PodSucceeded
	if code != 0 {
		s.Phase = corev1.PodFailed
	}
	return s
}

// RunsFor is the state of a container that runs.
func RunsFor() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

// Unpullable is the status of a pod whose image is not to be had.
func Unpullable(p *corev1.Pod) corev1.PodStatus {
	s := Started(p, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff",
		Message: "no such image"}})
	s.Phase = corev1.PodPending
	return s
}

// Ageing makes a pod older than its problems may last.
func (b *Bench) Ageing(name string) {
	b.T.Helper()
	Edit(b, &corev1.Pod{}, name, func(p *corev1.Pod) { p.CreationTimestamp.Time = time.Now().Add(-time.Hour) })
}

// listen serves a port of a pod from this process until the test ends, and
// returns how it ended.
func (b *Bench) listen(pod string, port int, serve func(context.Context, net.Listener) error) <-chan error {
	b.T.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	b.Must(err)
	ctx, stop := context.WithCancel(context.Background())
	out, gone := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(gone)
		out <- serve(ctx, l)
	}()
	b.Tunnels.listens(pod, port, l)
	b.T.Cleanup(func() { stop(); <-gone })
	return out
}

// Load runs the helper that the argv of a pod asks for, on a volume of the test.
func (b *Bench) Load(pod string, argv []string, volume string) <-chan error {
	b.T.Helper()
	flags := map[string]string{}
	if len(argv) < 4 || argv[0] != "/dbop/kubectl-dbop" || argv[1] != "helper" || argv[2] != "load" {
		b.T.Fatalf("the pod runs %q", argv)
	}
	rest := argv[3:]
	for rest[0] != "--" {
		flags[rest[0]] = strings.ReplaceAll(rest[1], "/var/lib/stub", volume)
		rest = rest[2:]
	}
	if flags["--listen"] != "127.0.0.1:8601" {
		b.T.Fatalf("it listens on %q", flags["--listen"])
	}
	return b.listen(pod, 8601, func(ctx context.Context, l net.Listener) error {
		o := helper.LoadOptions{Into: flags["--into"], Staging: flags["--staging"], Operation: flags["--operation"],
			Command: rest[1:], Margin: 1}
		if flags["--data-hash"] == "stub" {
			o.DataHash = b.Database.DataHash
		}
		return helper.Receive(ctx, l, o)
	})
}

// StandBy has a pod wait for its work, and tells for which operations it is asked.
func (b *Bench) StandBy(pod string, port int) <-chan string {
	b.T.Helper()
	asked := make(chan string, 1)
	b.listen(pod, port, func(ctx context.Context, l net.Listener) error {
		return helper.Standby{Within: time.Hour}.Serve(ctx, l, func(ctx context.Context, operation string) error {
			asked <- operation
			<-ctx.Done() // it is at work
			return nil
		})
	})
	return asked
}

// Serve runs the helper that serves a repository in a pod.
func (b *Bench) Serve(p *corev1.Pod, root string) {
	b.T.Helper()
	want := []string{"helper", "serve", "--root", "/repository", "--listen", "127.0.0.1:8600"}
	if got := p.Spec.Containers[0].Args; !slices.Equal(got, want) {
		b.T.Errorf("the pod runs %q", got)
	}
	b.listen(p.Name, 8600, func(ctx context.Context, l net.Listener) error {
		return helper.Serve(ctx, l, root, func(_, path string) (engine.SnapshotFacts,
			error) {
			return b.Database.Opened(path)
		})
	})
}

// Loader runs a loader pod; it has ended once the work is done.
func (b *Bench) Loader(name, volume string) {
	b.T.Helper()
	p := b.Helper(name)
	if p == nil {
		return
	}
	if p.Status.Phase == "" {
		b.Becomes(name, Started(p, RunsFor()))
		b.Load(name, p.Spec.Containers[0].Command, volume)
	}
	if _, err := os.Stat(filepath.Join(volume, "data")); err == nil {
		b.Becomes(name, Ended(p, 0, ""))
	}
}
