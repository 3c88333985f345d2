package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Machine is the one machine below the cluster of hack/cluster: what befalls
// processes, disks, nodes and DNS is done there.
type Machine struct {
	site   *Site
	driver Command
}

// ErrNoMachine says that the machine below the cluster can't be touched from here.
var ErrNoMachine = errors.New("only the cluster of hack/cluster lets a test touch its nodes, and only root")

// Machine is the machine below the cluster.
func (s *Site) Machine() (*Machine, error) {
	if !s.Local || os.Geteuid() != 0 {
		return nil, ErrNoMachine
	}
	path := filepath.Join(s.Root, "bin", "cluster")
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("the driver of the cluster is missing, run make cluster-up: %w", err)
	}
	return &Machine{site: s, driver: Command{Path: path, Dir: s.Root}}, nil
}

// Cluster runs a command of the cluster's driver, such as: node cut node-2.
func (m *Machine) Cluster(ctx context.Context, args ...string) error {
	r, err := m.driver.Run(ctx, args...)
	if err != nil {
		return err
	}
	if r.Code != 0 {
		return fmt.Errorf("the cluster's driver failed:\n%s", r)
	}
	return nil
}

// Freeze stops a member's process without ending it; the function it returns
// lets it go on, and does no harm if the process has ended meanwhile.
func (m *Machine) Freeze(ctx context.Context, namespace, member string) (func(), error) {
	pid, err := m.process(ctx, namespace, v1alpha1.PodName(member), "etcd")
	if err != nil {
		return nil, err
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("freeze %s (process %d): %w", member, pid, err)
	}
	return func() { _ = syscall.Kill(pid, syscall.SIGCONT) }, nil
}

// Killer returns what kills the first process of a member with an agent, and so all in its container, as often as it is
// called. It needs no control plane then.
func (m *Machine) Killer(ctx context.Context, namespace, member string) (func() error, error) {
	p, err := m.site.Client.CoreV1().Pods(namespace).Get(ctx, v1alpha1.PodName(member), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("find the pod of %s: %w", member, err)
	}
	return func() error {
		pid, err := firstProcess(p, "dbop-agent")
		if err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGKILL)
	}, nil
}

// KillProcesses kills the first process of a program in each pod that a selector chooses. Where none runs, it does
// nothing.
func (m *Machine) KillProcesses(ctx context.Context, namespace, selector, program string) error {
	pods, err := m.site.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("list the pods of %s: %w", selector, err)
	}
	for i := range pods.Items {
		pid, err := firstProcess(&pods.Items[i], program)
		if err != nil {
			continue // it has not started, or has ended
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill process %d of pod %s: %w", pid, pods.Items[i].Name, err)
		}
	}
	return nil
}

// process finds the first process of a program in a pod: containers share the
// machine's process table, and their control group names the pod.
func (m *Machine) process(ctx context.Context, namespace, pod, name string) (int, error) {
	p, err := m.site.Client.CoreV1().Pods(namespace).Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("find pod %s: %w", pod, err)
	}
	return firstProcess(p, name)
}

// firstProcess is the one with the lowest number: it started the others.
func firstProcess(p *corev1.Pod, name string) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, fmt.Errorf("list the processes: %w", err)
	}
	first := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// A process may end while it is observed.
		groups, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cgroup"))
		command, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		program, _, _ := strings.Cut(string(command), "\x00")
		if strings.Contains(string(groups), string(p.UID)) && filepath.Base(program) == name &&
			(first == 0 || pid < first) {
			first = pid
		}
	}
	if first == 0 {
		return 0, fmt.Errorf("pod %s has no process of %s on this machine", p.Name, name)
	}
	return first, nil
}

// DataFile is where a member's data file is on this machine.
func (m *Machine) DataFile(ctx context.Context, namespace, member string) (string, error) {
	dir, err := m.Volume(ctx, namespace, member)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "data", "member", "snap", "db"), nil
}

// Volume is where a member's volume is mounted on this machine.
func (m *Machine) Volume(ctx context.Context, namespace, member string) (string, error) {
	claim, err := m.site.Client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, v1alpha1.VolumeName(member),
		metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("find the volume of %s: %w", member, err)
	}
	volume, err := m.site.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("find the volume of %s: %w", member, err)
	}
	if volume.Spec.Local == nil {
		return "", fmt.Errorf("the volume of %s is not local", member)
	}
	return volume.Spec.Local.Path, nil
}
