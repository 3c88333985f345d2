package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// tunnels are kubectl port-forwards to pods that can't be reached directly,
// one for each life of a pod.
type tunnels struct {
	kubectl   Command
	namespace string
	port      string
	mu        sync.Mutex
	open      map[string]*tunnel
}

type tunnel struct {
	address string
	cmd     *exec.Cmd
	ended   chan struct{}
}

func newTunnels(kubectl Command, namespace, port string) *tunnels {
	return &tunnels{kubectl: kubectl, namespace: namespace, port: port, open: map[string]*tunnel{}}
}

// Forward is a kubectl port-forward to a port of a pod, as a person without a
// way into the pod network uses it. It returns its local address and its end.
func (s *Site) Forward(ctx context.Context, namespace, pod, port string) (string, func(), error) {
	t := newTunnels(s.Tool("kubectl", ""), namespace, port)
	address, err := t.address(ctx, pod, pod)
	return address, t.close, err
}

// address is the local end of the tunnel to a pod.
func (t *tunnels) address(ctx context.Context, pod, uid string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o, ok := t.open[uid]; ok {
		select {
		case <-o.ended:
			delete(t.open, uid)
		default:
			return o.address, nil
		}
	}
	o, err := t.dig(ctx, pod)
	if err != nil {
		return "", err
	}
	t.open[uid] = o
	return o.address, nil
}

func (t *tunnels) dig(ctx context.Context, pod string) (*tunnel, error) {
	args := []string{"port-forward", "-n", t.namespace, "pod/" + pod, "--address", "127.0.0.1", ":" + t.port}
	cmd := exec.Command(t.kubectl.Path, args...) // #nosec G204 -- outlives the call, ended by close
	cmd.Env = environment(t.kubectl.Env)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("forward a port of pod %s: %w", pod, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("forward a port of pod %s: %w", pod, err)
	}
	o := &tunnel{cmd: cmd, ended: make(chan struct{})}
	first := make(chan string, 1)
	go func() {
		defer close(o.ended)
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, lines)
		_ = cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	select {
	case line := <-first:
		_, rest, ok := strings.Cut(line, "Forwarding from ")
		if address, _, found := strings.Cut(rest, " ->"); ok && found {
			o.address = address
			return o, nil
		}
	case <-ctx.Done():
	}
	_ = cmd.Process.Kill()
	return nil, fmt.Errorf("kubectl could not forward a port of pod %s", pod)
}

func (t *tunnels) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.open {
		_ = o.cmd.Process.Kill()
		<-o.ended
	}
}
