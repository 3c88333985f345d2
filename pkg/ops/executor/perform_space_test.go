package executor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// rewriting is a database that writes a copy of its data to defragment it.
type rewriting struct{ *opstest.Database }

func (rewriting) RewriteRoom(engine.Member) int64 { return 300 << 20 }

func (rewriting) RewriteLeftovers() string { return "copy.*" }

// TestDefragmentMeasuresFirst: the database is asked only where its volume has
// room for the copy, by what a pod on the member's node says.
func TestDefragmentMeasuresFirst(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		free, total int64
		leftovers   int
		// known is the fact about what failed tries left.
		known string
		fails error
		calls []string
		facts map[string]string
		// refused is in the message, hint in the hint.
		refused, hint string
	}{
		"room": {free: 400 << 20, total: gib, calls: []string{"defragment db-1"},
			facts: map[string]string{etcd.FactDefragmented("db-1"): "done"}},
		"no room": {free: 100 << 20, total: gib,
			refused: "100 MiB of 1024 MiB are free, and it needs 300 MiB",
			hint:    "kubectl dbop resize db --storage 2Gi, then repeat"},
		"the disk is not the volume's alone": {free: 100 << 20, total: 50 * gib, refused: "100 MiB of 51200 MiB are free",
			hint: "make room there"},
		"something is left of failed tries": {free: 400 << 20, total: gib, leftovers: 2,
			facts: map[string]string{etcd.FactLeftovers("db-1"): "uid-of-db-1"}},
		"something stays after a restart": {free: 400 << 20, total: gib, leftovers: 2, known: "before",
			calls: []string{"defragment db-1"},
			facts: map[string]string{etcd.FactDefragmented("db-1"): "done"}},
		"the database finds it full": {free: 400 << 20, total: gib, fails: fmt.Errorf("write: %w", engine.ErrNoSpace),
			calls: []string{"defragment db-1"}, refused: "too full", hint: "resize db"},
	} {
		t.Run(name, func(t *testing.T) {
			b := plain(t)
			b.Op = opstest.Operation(v1alpha1.VerbDefrag)
			if c.known != "" {
				b.Op.Status.Facts = map[string]string{etcd.FactLeftovers("db-1"): c.known}
			}
			b.Database.Model.Err = c.fails
			l := liveOf(b)
			l.Engine = rewriting{b.Database}
			step := ops.Step{Action: ops.ActionDefragment, Members: []string{"db-1"}}
			perform := func() (ops.Result, error) {
				s := observation(b, l)
				m := &s.Kube.Members[s.MemberIndex("db-1")]
				m.Pod.UID, m.Pod.Node = "uid-of-db-1", "n"
				m.Volume.Capacity.Set(gib)
				return l.Perform(t.Context(), s, step, nil)
			}
			if _, err := perform(); !errors.Is(err, engine.ErrNotReady) {
				t.Fatalf("%v, want a pod that starts", err)
			}
			p := b.Only()
			if got := p.Spec.Containers[0]; !slices.Contains(got.Args, "copy.*") || p.Spec.NodeName != "n" ||
				!mounted(got, "/var/lib/stub").ReadOnly {
				t.Errorf("the pod runs %q on %q", got.Args, p.Spec.NodeName)
			}
			b.Becomes(p.Name, opstest.Ended(p, 0,
				fmt.Sprintf(`{"free":%d,"total":%d,"leftovers":%d}`, c.free, c.total, c.leftovers)))
			r, err := perform()
			if calls := b.Database.Last().Calls; !slices.Equal(calls, c.calls) {
				t.Errorf("calls %q, want %q", calls, c.calls)
			}
			if b.Helper(p.Name) != nil {
				t.Error("the pod is left")
			}
			if fmt.Sprint(r.Facts) != fmt.Sprint(c.facts) {
				t.Errorf("facts %v, want %v", r.Facts, c.facts)
			}
			if (err != nil) != (c.refused != "") || err != nil &&
				(ops.Transient(err) || !strings.Contains(err.Error(), c.refused) ||
					!strings.Contains(opstest.HintOf(err), c.hint)) {
				t.Errorf("%v, hint %q; want %q, %q", err, opstest.HintOf(err), c.refused, c.hint)
			}
		})
	}
}

// TestDefragmentRenewsAnOldMeasure: a report of a process that died long ago
// says nothing about now.
func TestDefragmentRenewsAnOldMeasure(t *testing.T) {
	b := plain(t)
	b.Op = opstest.Operation(v1alpha1.VerbDefrag)
	l := liveOf(b)
	l.Engine = rewriting{b.Database}
	step := ops.Step{Action: ops.ActionDefragment, Members: []string{"db-1"}}
	for range 2 {
		if _, err := l.Perform(t.Context(), observation(b, l), step, nil); !errors.Is(err, engine.ErrNotReady) {
			t.Fatalf("%v, want a pod that starts", err)
		}
		p := b.Only()
		b.Becomes(p.Name, opstest.Ended(p, 0, `{"free":1073741824,"total":1073741824}`))
		b.Ageing(p.Name)
		if _, err := l.Perform(t.Context(), observation(b, l), step, nil); !errors.Is(err, engine.ErrNotReady) ||
			b.Helper(p.Name) != nil {
			t.Errorf("%v, want another measure", err)
		}
	}
	if calls := b.Database.Last().Calls; len(calls) > 0 {
		t.Errorf("calls %q", calls)
	}
}
