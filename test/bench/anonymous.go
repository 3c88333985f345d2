package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

const (
	// podsEvery is how often pods and their processes are listed, and anonymousEvery how often the memory of those
	// is observed.
	podsEvery      = 100 * time.Millisecond
	anonymousEvery = 10 * time.Millisecond
)

// anonymous is the most anonymous memory of the helper pods, in MiB, by what each is for: all processes of a pod
// together. The nodes must run on this machine.
type anonymous map[string]float64

// during observes the helper pods of a namespace while something runs.
func (a anonymous) during(ctx context.Context, b *bench, ns string, run func() error) error {
	if _, err := b.site.Machine(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		err := run()
		stop()
		ended <- err
	}()
	err := a.observe(ctx, b, ns)
	return errors.Join(<-ended, err)
}

// observe goes on until its context ends.
func (a anonymous) observe(ctx context.Context, b *bench, ns string) error {
	pods, now := time.NewTicker(podsEvery), time.NewTicker(anonymousEvery)
	defer pods.Stop()
	defer now.Stop()
	var processes map[string][]int
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-pods.C:
			found, err := b.helpers(ctx, ns)
			if err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			processes = found
		case <-now.C:
			for purpose, pids := range processes {
				sum := 0.0
				for _, pid := range pids {
					sum += statusMiB(pid, "RssAnon:")
				}
				a[purpose] = max(a[purpose], sum)
			}
		}
	}
}

// helpers finds the processes of the helper pods of a namespace: containers share the machine's process table, and
// their control group names the pod.
func (b *bench) helpers(ctx context.Context, ns string) (map[string][]int, error) {
	pods, err := b.site.Client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPurpose})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	if len(pods.Items) == 0 {
		return nil, nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	found := map[string][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		groups, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cgroup")) // it may end while it is observed
		for i := range pods.Items {
			if p := &pods.Items[i]; strings.Contains(string(groups), string(p.UID)) {
				purpose := p.Labels[v1alpha1.LabelPurpose]
				found[purpose] = append(found[purpose], pid)
			}
		}
	}
	return found, nil
}
