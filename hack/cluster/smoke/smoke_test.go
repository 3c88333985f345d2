//go:build cluster

// Package smoke tries the running cluster out: go test -tags cluster ./smoke
// What it cuts off and crashes is a node that it joins for that purpose, so
// others may use the cluster meanwhile.
package smoke

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// target is the name of the node that has to suffer.
const target = "smoke"

// driver is the command, built from this tree.
type driver struct{ path string }

// build compiles the driver.
func build(t *testing.T) driver {
	t.Helper()
	d := driver{filepath.Join(t.TempDir(), "cluster")}
	if output, err := exec.Command("go", "build", "-o", d.path, "..").CombinedOutput(); err != nil {
		t.Fatalf("build the driver: %v\n%s", err, output)
	}
	return d
}

// run executes a command of the driver and returns what it printed.
func (d driver) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, d.path, args...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("cluster %s: %w: %s", strings.Join(args, " "), err, complaint.String())
	}
	return strings.TrimSpace(string(output)), nil
}

// must is run for what has to succeed.
func (d driver) must(t *testing.T, args ...string) string {
	t.Helper()
	output, err := d.run(args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// kubectl is must for kubectl in the test's namespace.
func (d driver) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return d.must(t, append([]string{"kubectl", "--namespace=smoke"}, args...)...)
}

// eventually repeats a check until it is nil.
func eventually(t *testing.T, what string, limit time.Duration, check func() error) {
	t.Helper()
	began := time.Now()
	for {
		err := check()
		if err == nil {
			t.Logf("%s after %s", what, time.Since(began).Round(100*time.Millisecond))
			return
		}
		if time.Since(began) > limit {
			t.Fatalf("not %s within %s: %v", what, limit, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func TestCluster(t *testing.T) {
	d := build(t)
	d.must(t, "up")
	t.Cleanup(func() {
		if _, err := d.run("kubectl", "delete", "namespace", "smoke", "--ignore-not-found"); err != nil {
			t.Error(err)
		}
		if _, err := d.run("node", "remove", target); err != nil {
			t.Error(err)
		}
	})
	d.must(t, "node", "add", target)
	d.must(t, "kubectl", "taint", "node", target, "smoke=true:NoSchedule", "--overwrite")
	d.must(t, "kubectl", "apply", "-f", "testdata/etcd.yaml")
	began := time.Now()
	d.kubectl(t, "rollout", "status", "statefulset/etcd", "--timeout=90s")
	t.Logf("three members ready after %s", time.Since(began).Round(100*time.Millisecond))

	far, near := -1, -1
	nodes := strings.Fields(d.kubectl(t, "get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}"))
	for ordinal, node := range nodes {
		if node == target {
			far = ordinal
		} else {
			near = ordinal
		}
	}
	if far < 0 || near < 0 {
		t.Fatalf("members are on %v, not on %s and others", nodes, target)
	}

	t.Run("names", func(t *testing.T) {
		for _, from := range []int{near, far} {
			for _, host := range []string{"etcd-0.etcd", "etcd-1.etcd.smoke.svc", "etcd-2.etcd.smoke.svc.cluster.local", "etcd", "etcd-client"} {
				d.kubectl(t, "exec", member(from), "--", "etcdctl", "--endpoints=http://"+host+":2379", "endpoint", "health")
			}
		}
	})
	t.Run("logs", func(t *testing.T) {
		for _, of := range []int{near, far} {
			if d.kubectl(t, "logs", member(of), "--tail=1") == "" {
				t.Errorf("no logs of %s", member(of))
			}
		}
	})
	t.Run("port-forward", func(t *testing.T) {
		for _, to := range []int{near, far} {
			d.forward(t, member(to), 23790+to)
		}
	})
	t.Run("growth", func(t *testing.T) {
		claim := "pvc/data-" + member(far)
		d.kubectl(t, "patch", claim, "--patch", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
		eventually(t, "grown", 10*time.Second, func() error {
			if got := d.kubectl(t, "get", claim, "-o", "jsonpath={.status.capacity.storage}"); got != "2Gi" {
				return fmt.Errorf("capacity %s", got)
			}
			return nil
		})
	})
	health := func() error {
		_, err := d.run("kubectl", "--namespace=smoke", "exec", member(near), "--", "etcdctl", "--command-timeout=2s",
			"--endpoints=http://"+member(far)+".etcd:2379", "endpoint", "health")
		return err
	}
	for _, harm := range []string{"cut", "crash"} {
		t.Run(harm, func(t *testing.T) {
			d.must(t, "node", harm, target)
			if health() == nil {
				t.Errorf("the member on %s still answers", target)
			}
			d.must(t, "node", "heal", target)
			eventually(t, "healed", time.Minute, health)
		})
	}
}

// member is the name of a pod.
func member(ordinal int) string { return fmt.Sprintf("etcd-%d", ordinal) }

// forward asks a member for its version through a forwarded port.
func (d driver) forward(t *testing.T, pod string, port int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), d.path, "kubectl", "--namespace=smoke",
		"port-forward", "pod/"+pod, fmt.Sprintf("%d:2379", port))
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	eventually(t, "forwarded to "+pod, 10*time.Second, func() error {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/version", port))
		if err != nil {
			return err
		}
		return answer.Body.Close()
	})
}
