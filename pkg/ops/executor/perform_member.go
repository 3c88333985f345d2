package executor

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// start creates certificate, volume and workload of the members, side by
// side: initial members must meet each other, and joiners were told of each other.
func (l *Executor) start(ctx context.Context, s ops.State, members []string) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, m := range members {
		g.Go(func() error {
			if err := pki.EnsureMemberCertificate(ctx, l.Client, s.Cluster, m); err != nil {
				return fmt.Errorf("create the certificate of %s: %w", m, err)
			}
			if err := l.applyVolume(ctx, s, m); err != nil {
				return fmt.Errorf("create the volume of %s: %w", m, err)
			}
			_, err := l.applyWorkload(ctx, s, m)
			return err
		})
	}
	return g.Wait()
}

// applyWorkload renders a member's workload as the cluster wants it now.
func (l *Executor) applyWorkload(ctx context.Context, s ops.State, member string) (workload.Applied, error) {
	in, err := l.workload(s.Cluster, told{member: member, peers: s.Peers(member), bootstrap: s.Founds(l.Engine),
		joinLimit: ops.JoinLimit(l.Engine, s, member)})
	if err != nil {
		return workload.Applied{}, err
	}
	applied, err := workload.Apply(ctx, l.Client, in)
	if err != nil {
		return workload.Applied{}, fmt.Errorf("apply the workload of %s: %w", member, err)
	}
	return applied, nil
}

// told is what a member is told of the others.
type told struct {
	member    string
	peers     []string
	bootstrap bool
	joinLimit int
}

// workload is what a member's workload is built from.
func (l *Executor) workload(c *v1alpha1.DatabaseCluster, t told) (workload.Input, error) {
	member := t.member
	image, err := l.image(c, c.Spec.Version)
	if err != nil {
		return workload.Input{}, err
	}
	pod, err := l.Engine.Pod(engine.PodInput{Cluster: c, Member: member, Image: image, Version: c.Spec.Version,
		ToolImage: l.helperImage(c), Peers: t.peers, Bootstrap: t.bootstrap, JoinLimit: t.joinLimit,
		Witness: c.Status.Bootstrap != nil && slices.Contains(c.Status.Bootstrap.Witnesses, member)})
	if err != nil {
		return workload.Input{}, fmt.Errorf("render the pod of %s: %w", member, err)
	}
	settings, err := rules.SettingsDigest(l.Engine, c)
	if err != nil {
		return workload.Input{}, fmt.Errorf("render the pod of %s: %w", member, err)
	}
	return workload.Input{Cluster: c, Member: member, Pod: pod, Version: c.Spec.Version, Settings: settings,
		Bootstrap: t.bootstrap,
		Renderer:  l.Tool, Rendering: l.rendering(c)}, nil
}

// disableBootstrap takes the founding words out of the members' templates.
func (l *Executor) disableBootstrap(ctx context.Context, s ops.State, members []string) error {
	for _, m := range members {
		if err := workload.DisableBootstrap(ctx, l.Client, s.Cluster.Namespace, m, l.Engine.DisableBootstrap); err != nil {
			return fmt.Errorf("seal the workload of %s: %w", m, err)
		}
	}
	return nil
}

// prepare lets the engine make its members ready for the wanted version.
func (l *Executor) prepare(ctx context.Context, s ops.State, members []string) (ops.Result, error) {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return ops.Result{}, err
	}
	target := s.Cluster.Spec.Version
	if p, ok := session.(engine.Preparer); ok {
		if err := p.PrepareUpgrade(ctx, members, target); err != nil {
			return ops.Result{}, err
		}
	}
	return ops.Result{Facts: map[string]string{v1alpha1.FactPrepared: target}}, nil
}

// configure has the members agree on the wanted settings.
func (l *Executor) configure(ctx context.Context, s ops.State) error {
	session, err := l.connect(ctx, s.Cluster)
	if err != nil {
		return err
	}
	c, ok := session.(engine.Configurer)
	if !ok {
		return engine.ErrReadOnly
	}
	if err := l.mayArchive(ctx, s); err != nil {
		return err
	}
	return c.Configure(ctx, s.Cluster.Spec)
}

// restart deletes the pod that the record names, or else the one that was
// seen. Who asks for a restart also gets the template of this program, and
// nobody restarts with a template that somebody changed.
func (l *Executor) restart(ctx context.Context, s ops.State, member string) error {
	uid, verb := s.Kube.Member(member).Pod.UID, s.Verb()
	if verb == v1alpha1.VerbRestart || verb == v1alpha1.VerbRepair && s.Operation.Spec.Authority == "" {
		uid = s.Operation.Spec.Pods[member]
	}
	if slices.Contains(health.Tampered(s), member) || verb == v1alpha1.VerbRestart &&
		slices.Contains(rules.Drifted(s), member) {
		if err := l.renderAgain(ctx, s, member); err != nil {
			return err
		}
	}
	return l.renewPod(ctx, s, member, uid)
}

// renderAgain applies a template that the workload's controller must have seen
// before a pod is deleted: one made from the old template would restart twice.
func (l *Executor) renderAgain(ctx context.Context, s ops.State, member string) error {
	applied, err := l.applyWorkload(ctx, s, member)
	if err != nil {
		return err
	}
	if !applied.Observed {
		return fmt.Errorf("the workload controller has not seen the new template of %s: %w", member, engine.ErrNotReady)
	}
	return nil
}

// renewPod deletes exactly that pod; its workload makes another.
func (l *Executor) renewPod(ctx context.Context, s ops.State, member, uid string) error {
	if err := workload.DeletePod(ctx, l.Client, s.Cluster.Namespace, v1alpha1.PodName(member), uid); err != nil {
		return fmt.Errorf("restart %s: %w", member, err)
	}
	return nil
}

// renew gives a member its new template, then restarts its pod. done says of a
// pod that it was made from the new one.
func (l *Executor) renew(ctx context.Context, s ops.State, member string, done func(observe.Pod) bool) error {
	if err := l.renderAgain(ctx, s, member); err != nil {
		return err
	}
	pod := s.Kube.Member(member).Pod
	if !pod.Exists || done(pod) {
		return nil
	}
	return l.renewPod(ctx, s, member, pod.UID)
}

// stop deletes workloads and sees their pods gone; volumes stay.
func (l *Executor) stop(ctx context.Context, s ops.State, members []string) error {
	going := ""
	for _, m := range members {
		k := s.Kube.Member(m)
		if k.Workload.Exists && !k.Workload.Terminating {
			if err := workload.Delete(ctx, l.Client, s.Cluster.Namespace, m, k.Workload.UID); err != nil {
				return fmt.Errorf("stop %s: %w", m, err)
			}
		}
		if k.Pod.Exists && !k.Pod.Terminating {
			if err := workload.DeletePod(ctx, l.Client, s.Cluster.Namespace, v1alpha1.PodName(m), k.Pod.UID); err != nil {
				return fmt.Errorf("stop the pod of %s: %w", m, err)
			}
		}
		if k.Workload.Exists || k.Pod.Exists {
			going = m
		}
	}
	if going != "" {
		return notGone(going)
	}
	return nil
}

// retire stops a member that the database does not list any more, then drops its volume.
func (l *Executor) retire(ctx context.Context, s ops.State, member string) error {
	if err := l.stop(ctx, s, []string{member}); err != nil {
		return err
	}
	if err := pki.DeleteMemberCertificate(ctx, l.Client, s.Cluster.Namespace, member); err != nil {
		return fmt.Errorf("delete the certificate of %s: %w", member, err)
	}
	return l.deleteVolumes(ctx, s, []string{member})
}

// deleteVolumes drops volumes and sees them gone.
func (l *Executor) deleteVolumes(ctx context.Context, s ops.State, members []string) error {
	going := ""
	for _, m := range members {
		v := s.Kube.Member(m).Volume
		if !v.Exists {
			continue
		}
		going = "the volume of " + m
		if err := l.endHelpers(ctx, s, v1alpha1.VolumeName(m)); err != nil {
			return err
		}
		if v.Terminating {
			continue
		}
		if err := workload.DeleteVolume(ctx, l.Client, s.Cluster.Namespace, v1alpha1.VolumeName(m), v.UID); err != nil {
			return fmt.Errorf("drop the volume of %s: %w", m, err)
		}
	}
	if going != "" {
		return notGone(going)
	}
	return nil
}

// endHelpers ends the tool's own pods that use a volume, without which it would never go.
func (l *Executor) endHelpers(ctx context.Context, s ops.State, volume string) error {
	for _, h := range s.Kube.Helpers {
		if !slices.Contains(h.Claims, volume) {
			continue
		}
		if err := helperpod.Delete(ctx, l.Client, l.Namespace, h.Name); err != nil {
			return fmt.Errorf("remove helper pod %s: %w", h.Name, err)
		}
	}
	return nil
}
