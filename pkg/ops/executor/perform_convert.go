package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// reverter is the pod that takes back what ops.Converter did.
func reverter(member string) string { return member + "-revert" }

// convertInPlace takes over the volume of a former member, and has a pod convert the data there. The pod goes on where
// an earlier one was interrupted.
func (l *Executor) convertInPlace(ctx context.Context, t task) error {
	name := ops.Converter(t.Member())
	if t.Bootstrap().InPlace != v1alpha1.InPlaceAsked { // it was taken back, and is gone on with
		if err := l.stage(ctx, v1alpha1.InPlaceAsked); err != nil {
			return err
		}
	}
	if err := l.takeOver(ctx, t.State, t.Member()); err != nil {
		return err
	}
	waits := l.standsBy(t)
	for _, h := range t.Kube.Helpers {
		switch other := h.Purpose == helperpod.PurposeLoad && h.Name != name; {
		case other || h.Name == name && h.Done && h.Message == helper.NotAsked:
			if err := helperpod.Delete(ctx, l.Client, l.Namespace, h.Name); err != nil {
				return fmt.Errorf("remove helper pod %s: %w", h.Name, err)
			}
			return fmt.Errorf("helper pod %s is going: %w", h.Name, engine.ErrNotReady)
		case h.Name == name && h.Failed:
			return l.notConvertedInPlace(ctx, t, h)
		}
	}
	h, err := l.helper(ctx, t.State, name, func() error { return l.createConverter(ctx, t, "", waits) })
	if err != nil {
		return err
	}
	if !h.Done {
		return l.converting(ctx, t, h, waits)
	}
	if err := helperpod.Delete(ctx, l.Client, l.Namespace, name); err != nil {
		return fmt.Errorf("remove helper pod %s: %w", name, err)
	}
	return l.change(ctx, func(c *v1alpha1.DatabaseCluster) { c.Status.Bootstrap.Loaded = true })
}

// stage writes down how far a volume is that is converted.
func (l *Executor) stage(ctx context.Context, stage v1alpha1.InPlace) error {
	return l.change(ctx, func(c *v1alpha1.DatabaseCluster) { c.Status.Bootstrap.InPlace = stage })
}

// takeOver gives the volume of a member the token of the incarnation that a state has. It makes none.
func (l *Executor) takeOver(ctx context.Context, s ops.State, member string) error {
	v := s.Kube.Member(member).Volume
	switch {
	case !v.Exists || v.Terminating:
		return &ops.Error{Kind: ops.NeedsHuman, Check: "volumes", Message: "the volume of " + member + " is gone",
			Hint: "kubectl dbop cancel " + s.Cluster.Name + " goes back, if the others are a majority"}
	case v.Token == s.Bootstrap().Token:
		return nil
	}
	if err := l.applyVolume(ctx, s, member); err != nil {
		return fmt.Errorf("take over the volume of %s: %w", member, err)
	}
	return nil
}

// notConvertedInPlace is the end of a pod that could not convert the data.
func (l *Executor) notConvertedInPlace(ctx context.Context, t task, h observe.Helper) error {
	if err := helperpod.Delete(ctx, l.Client, l.Namespace, h.Name); err != nil {
		return fmt.Errorf("remove failed helper pod %s: %w", h.Name, err)
	}
	return notConverted(t.Operation, fmt.Errorf("pod %s: %w: %s", h.Name, helper.ErrCommand,
		strings.TrimSpace(h.Message)))
}

// createConverter makes the pod. It has the programs of both versions, and the volume of the member. One that waits is
// told later for which operation it works. node is where the member runs, "" for none.
func (l *Executor) createConverter(ctx context.Context, t task, node string, waits bool) error {
	c := t.Cluster.DeepCopy() // which wants the later version from the new incarnation on, and no earlier
	c.Spec.Version, c.Spec.Image = t.Operation.Spec.Version, t.Operation.Spec.Image
	image, err := l.image(c, c.Spec.Version)
	if err != nil {
		return err
	}
	pod, err := l.onVolume(c, t.Member())
	if err != nil {
		return err
	}
	former, err := l.former(c, t.Operation.Spec.FromVersion, t.Operation.Spec.FromImage)
	if err != nil {
		return err
	}
	begins := []string{"--operation", t.Bootstrap().Token}
	if waits {
		begins = []string{"--listen", loadAddress, "--report", corev1.TerminationMessagePathDefault}
	}
	return helperpod.Create(ctx, l.Client, helperpod.Spec{Name: ops.Converter(t.Member()), Namespace: l.Namespace,
		Cluster: c, Purpose: helperpod.PurposeLoad, Image: image, InstallFrom: l.helperImage(c), Former: former,
		Deadline: workload.LongestStream,
		Claim:    v1alpha1.VolumeName(t.Member()), MountPath: pod.DataPath, User: pod.User, Node: node,
		Command: slices.Concat([]string{helperpod.InstalledBinary, "helper", "convert", "--engine", l.Engine.Name(),
			"--dir", pod.DataDir}, begins, []string{"--programs", formerPrograms})})
}

// onVolume is the pod of a member, for where its volume is mounted.
func (l *Executor) onVolume(c *v1alpha1.DatabaseCluster, member string) (engine.Pod, error) {
	image, err := l.image(c, c.Spec.Version)
	if err != nil {
		return engine.Pod{}, err
	}
	return l.Engine.Pod(engine.PodInput{Cluster: c, ToolImage: l.helperImage(c), Member: member, Image: image,
		Version: c.Spec.Version, Peers: []string{member}})
}

// revertInPlace has a pod take back what was converted on the volume of a former member, and writes down whether it
// could.
func (l *Executor) revertInPlace(ctx context.Context, t task) error {
	for _, h := range t.Kube.Helpers {
		if h.Name != ops.Converter(t.Member()) {
			continue
		}
		if err := helperpod.Delete(ctx, l.Client, l.Namespace, h.Name); err != nil {
			return fmt.Errorf("remove helper pod %s: %w", h.Name, err)
		}
		return fmt.Errorf("helper pod %s is going: %w", h.Name, engine.ErrNotReady)
	}
	name := reverter(t.Member())
	h, err := l.helper(ctx, t.State, name, func() error {
		pod, err := l.onVolume(t.Cluster, t.Member())
		if err != nil {
			return err
		}
		return helperpod.Create(ctx, l.Client, helperpod.Spec{Name: name, Namespace: l.Namespace, Cluster: t.Cluster,
			Purpose: helperpod.PurposeLoad, Image: l.helperImage(t.Cluster),
			Args: []string{"helper", "revert", "--engine", l.Engine.Name(), "--dir", pod.DataDir, "--operation",
				t.Bootstrap().Token, "--report", corev1.TerminationMessagePathDefault},
			Claim: v1alpha1.VolumeName(t.Member()), MountPath: pod.DataPath, User: pod.User})
	})
	if err != nil {
		return err
	}
	if !h.Done {
		return fmt.Errorf("pod %s reads the volume of %s: %w", name, t.Member(), engine.ErrNotReady)
	}
	stage := v1alpha1.InPlace(strings.TrimSpace(h.Message))
	if stage != v1alpha1.InPlaceReverted && stage != v1alpha1.InPlaceFinal {
		return fmt.Errorf("take back what was converted on the volume of %s: pod %s left %q", t.Member(), name, h.Message)
	}
	if err := l.stage(ctx, stage); err != nil {
		return err
	}
	if err := helperpod.Delete(ctx, l.Client, l.Namespace, name); err != nil {
		return fmt.Errorf("remove helper pod %s: %w", name, err)
	}
	return nil
}
