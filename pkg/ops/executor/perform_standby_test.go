package executor

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func standbyStep() ops.Step { return ops.Step{Action: ops.ActionStandby, Members: []string{"db-1"}} }

// serving is a cluster whose data is to be converted, and that serves.
func serving(t *testing.T) *opstest.Bench {
	t.Helper()
	b := opstest.NewBench(t)
	b.Founded(3, "id")
	running(b, "db-1")
	b.Op = opstest.Operation(v1alpha1.VerbUpgrade)
	o := &b.Op.Spec
	o.FromVersion, o.Version, o.Image = b.Cluster().Spec.Version, "2.0.0", "example.com/later:2"
	return b
}

// TestStandBy: a pod starts where the member runs, and is told of no operation.
func TestStandBy(t *testing.T) {
	b := serving(t)
	opstest.Edit(b, &corev1.Pod{}, "db-1-0", func(p *corev1.Pod) { p.Spec.NodeName = "node-7" })
	waits(b, standbyStep(), "is starting")
	p := b.Helper("db-1-convert")
	if p == nil || p.Spec.NodeName != "node-7" {
		t.Fatalf("it runs at %+v", p)
	}
	if c := p.Spec.Containers[0]; slices.Contains(c.Command, "--operation") || !slices.Contains(c.Command, "--listen") ||
		c.Image != "example.com/later:2" {
		t.Errorf("it runs %q in %s", c.Command, c.Image)
	}
	waits(b, standbyStep(), "is starting")
	b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
	done, err := perform(b, standbyStep())
	b.Must(err)
	if got := done.Facts[v1alpha1.FactConverter]; got != p.Name {
		t.Errorf("the fact is %q", got)
	}
	_, err = perform(b, ops.Step{Action: ops.ActionDismiss, Members: []string{"db-1"}})
	b.Must(err)
	if b.Helper(p.Name) != nil {
		t.Error("it waits for nothing")
	}
}

// TestStandByImpossible: nobody waits for a pod that does not start next to the member.
func TestStandByImpossible(t *testing.T) {
	for want, becomes := range map[string]func(b *opstest.Bench, pod string){
		"unknown flag: --listen": func(b *opstest.Bench, pod string) {
			b.Becomes(pod, opstest.Ended(b.Helper(pod), 1, "unknown flag: --listen"))
		},
		"did not start in 1m0s": func(b *opstest.Bench, pod string) { b.Ageing(pod) },
	} {
		b := serving(t)
		waits(b, standbyStep(), "is starting")
		becomes(b, "db-1-convert")
		done, err := perform(b, standbyStep())
		b.Must(err)
		if got := done.Facts[v1alpha1.FactConverter]; !strings.HasPrefix(got, "none: ") || !strings.Contains(got, want) ||
			b.Helper("db-1-convert") != nil {
			t.Errorf("%s: the fact is %q", want, got)
		}
	}
}

// TestConvertAsks: a pod that waits is told for which incarnation it converts, and that again does no harm. One that
// waits at another member ends, and so does one that waited for too long.
func TestConvertAsks(t *testing.T) {
	b := linked(t)
	b.Op.Status.Facts = map[string]string{v1alpha1.FactConverter: "db-1-convert"}
	waits(b, convertStep(), "is starting")
	p := b.Helper("db-1-convert")
	if words := p.Spec.Containers[0].Command; slices.Contains(words, "--operation") {
		t.Errorf("it runs %q", words)
	}
	b.Becomes(p.Name, opstest.Ended(p, 0, helper.NotAsked))
	waits(b, convertStep(), "is going")
	waits(b, convertStep(), "is starting")
	b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
	waits(b, convertStep(), "does not say whether")
	asked := b.StandBy(p.Name, loadPort)
	for range 2 {
		waits(b, convertStep(), "is converting")
	}
	if got := <-asked; got != b.Cluster().Status.Bootstrap.Token {
		t.Errorf("it is asked for %q", got)
	}

	c := b.Cluster()
	c.Status.Bootstrap.Token = "another"
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	if waits(b, convertStep(), "is going"); b.Helper(p.Name) != nil {
		t.Error("it waits for a pod that works for another incarnation")
	}

	b = linked(t)
	b.Op.Status.Facts = map[string]string{v1alpha1.FactConverter: "db-2-convert"}
	waits(b, ops.Step{Action: ops.ActionStandby, Members: []string{"db-2"}}, "is starting")
	waits(b, convertStep(), "is going")
	waits(b, convertStep(), "is starting")
	if words := b.Only().Spec.Containers[0].Command; !slices.Contains(words, "--operation") {
		t.Errorf("nobody waited, and it runs %q", words)
	}
}
