package executor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
)

// measuredFor is how long the fill of a volume counts that was measured.
const measuredFor = time.Minute

// defragment lets the engine give space back, if the volume has the room that
// this takes: an engine that fills its volume leaves it fuller than it was.
func (l *Executor) defragment(ctx context.Context, session engine.Defragmenter, t task) (ops.Result, error) {
	s, member := t.State, t.Member()
	var fill helper.Fill
	if w, ok := l.Engine.(engine.Rewriter); ok {
		var err error
		if fill, err = l.measure(ctx, s, member, w.RewriteLeftovers()); err != nil {
			return ops.Result{}, err
		}
		if fill.Leftovers > 0 && s.Fact(etcd.FactLeftovers(member)) == "" {
			return fact(etcd.FactLeftovers(member), s.Kube.Member(member).Pod.UID)
		}
		if need := w.RewriteRoom(s.View.Member(member)); fill.Free < need {
			return ops.Result{}, volumeTooFull(s, member, fill, need)
		}
	}
	err := session.Defragment(ctx, member)
	if errors.Is(err, engine.ErrNoSpace) {
		// What the failed try left is found and removed by the next one.
		return ops.Result{}, volumeTooFull(s, member, fill, 2*fill.Free)
	}
	return done(etcd.FactDefragmented(member), err)
}

// compact lets the engine drop history.
func compact(ctx context.Context, session engine.Compactor, t task) (ops.Result, error) {
	before := t.Operation.Spec.Compaction.Before
	if err := session.Compact(ctx, t.Members, before); err != nil {
		return ops.Result{}, err
	}
	return fact(v1alpha1.FactCompacted, strconv.FormatInt(before, 10))
}

// measure has a pod of this tool on the member's node say how full its volume
// is. A report that is not fresh is not used.
func (l *Executor) measure(ctx context.Context, s ops.State, member, leftovers string) (helper.Fill, error) {
	name := member + "-measure"
	h, err := l.helper(ctx, s, name, func() error {
		c := s.Cluster
		image, err := l.image(c, c.Spec.Version)
		if err != nil {
			return err
		}
		pod, err := l.Engine.Pod(engine.PodInput{Cluster: c, ToolImage: l.helperImage(c), Member: member, Image: image,
			Version: c.Spec.Version,
			Peers:   s.Peers(member)})
		if err != nil {
			return fmt.Errorf("render the pod of %s: %w", member, err)
		}
		return helperpod.Create(ctx, l.Client, helperpod.Spec{Name: name, Namespace: l.Namespace, Cluster: c,
			Purpose: helperpod.PurposeMeasure, Image: l.helperImage(c),
			Args: []string{"helper", "measure", "--dir", pod.DataDir, "--leftovers", leftovers, "--report",
				corev1.TerminationMessagePathDefault},
			Claim: v1alpha1.VolumeName(member), MountPath: pod.DataPath, User: pod.User, ReadOnly: true,
			Node: s.Kube.Member(member).Pod.Node})
	})
	if err != nil {
		return helper.Fill{}, err
	}
	if !h.Done || h.Terminating {
		return helper.Fill{}, fmt.Errorf("the fill of the volume of %s is being measured: %w", member, engine.ErrNotReady)
	}
	if err := helperpod.Delete(ctx, l.Client, l.Namespace, name); err != nil {
		return helper.Fill{}, fmt.Errorf("remove helper pod %s: %w", name, err)
	}
	if s.Now.Sub(h.Created) > measuredFor {
		return helper.Fill{}, fmt.Errorf("the fill of the volume of %s is measured again: %w", member, engine.ErrNotReady)
	}
	fill, err := helper.ReadFill(h.Message)
	if err != nil {
		return helper.Fill{}, fmt.Errorf("measure the volume of %s: %w", member, err)
	}
	return fill, nil
}

// volumeTooFull refuses a defragmentation, and says how large the volumes have
// to be. Where a volume is a directory of a larger disk, its size says nothing.
func volumeTooFull(s ops.State, member string, fill helper.Fill, need int64) *ops.Error {
	const mib, disk = 1 << 20, 1.3
	name, volume := s.Cluster.Name, s.Kube.Member(member).Volume
	has := volume.Capacity
	if has.IsZero() {
		has = s.Cluster.Spec.Storage.Size
	}
	e := &ops.Error{Kind: ops.Refused, Check: "volume-space",
		Message: fmt.Sprintf(
			"the volume of %s is too full to defragment it: %d MiB of %d MiB are free, and it needs %d MiB for a "+
				"copy of its data and for its log",
			member, fill.Free/mib, fill.Total/mib, (need+mib-1)/mib)}
	if float64(fill.Total) > disk*float64(has.Value()) {
		e.Hint = fmt.Sprintf(
			"its disk on node %s is shared with others and larger than the volume: make room there, then repeat the command",
			s.Kube.Member(member).Pod.Node)
		return e
	}
	e.Hint = fmt.Sprintf("kubectl dbop resize %s --storage %s, then repeat the command", name,
		enlarged(has, need-fill.Free))
	return e
}

// enlarged is a size with so much more room for files, in whole pieces of a
// volume; file systems keep a part for themselves.
func enlarged(has resource.Quantity, more int64) string {
	piece := int64(1 << 30)
	if has.Value() < piece {
		piece = 128 << 20
	}
	want := has.Value() + more + more/4
	return resource.NewQuantity((want+piece-1)/piece*piece, resource.BinarySI).String()
}
