package executor

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// start creates certificate, volume and workload of the members, side by
// side: initial members must meet each other, and joiners were told of each other.
func (l *Executor) start(ctx context.Context, t task) error {
	if err := l.maySource(ctx, t.State); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, m := range t.Members {
		g.Go(func() error {
			if err := pki.EnsureMemberCertificate(ctx, l.Client, t.Cluster, m); err != nil {
				return fmt.Errorf("create the certificate of %s: %w", m, err)
			}
			// What only read the volume while nobody ran on it may be on another node.
			if err := l.endHelpers(ctx, t.State, v1alpha1.VolumeName(m)); err != nil {
				return err
			}
			if err := l.applyVolume(ctx, t.State, m); err != nil {
				return fmt.Errorf("create the volume of %s: %w", m, err)
			}
			_, err := l.applyWorkload(ctx, t.State, m)
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
		Selector: kube.MemberSelector(c.Name),
		Witness:  c.Status.Bootstrap != nil && slices.Contains(c.Status.Bootstrap.Witnesses, member)})
	if err != nil {
		return workload.Input{}, fmt.Errorf("render the pod of %s: %w", member, err)
	}
	settings, err := rules.SettingsDigest(l.Engine, c)
	if err != nil {
		return workload.Input{}, fmt.Errorf("render the pod of %s: %w", member, err)
	}
	return workload.Input{Cluster: c, Member: member, Pod: pod, Version: c.Spec.Version, Settings: settings,
		Bootstrap: t.bootstrap,
		Renderer:  l.Tool, Rendering: l.Rendering(c)}, nil
}

// disableBootstrap takes the founding words out of the members' templates.
func (l *Executor) disableBootstrap(ctx context.Context, t task) error {
	for _, m := range t.Members {
		if err := workload.DisableBootstrap(ctx, l.Client, t.Cluster.Namespace, m, l.Engine.DisableBootstrap); err != nil {
			return fmt.Errorf("seal the workload of %s: %w", m, err)
		}
	}
	return nil
}

// configure has the members agree on the wanted settings.
func (l *Executor) configure(ctx context.Context, session engine.Configurer, t task) (ops.Result, error) {
	if err := l.mayArchive(ctx, t.State); err != nil {
		return ops.Result{}, err
	}
	return ops.Result{}, session.Configure(ctx, t.Cluster.Spec)
}

// takeBack takes back what was set on a member alone.
func takeBack(ctx context.Context, session engine.OverrideTaker, t task) (ops.Result, error) {
	return ops.Result{}, session.TakeBack(ctx, t.Member())
}

// correct restarts a member with a template as this program renders it.
func (l *Executor) correct(ctx context.Context, t task) error {
	return l.renew(ctx, t.State, t.Member(), func(p observe.Pod) bool { return p.Rendering == t.Rendering })
}

// roll restarts a member with the wanted settings.
func (l *Executor) roll(ctx context.Context, t task) error {
	situation := planner.For(l.Engine, t.State)
	return l.renew(ctx, t.State, t.Member(), func(p observe.Pod) bool {
		return !situation.OtherPod(p) && len(t.View.Member(t.Member()).Pending) == 0
	})
}

// revive restarts a member that hangs while it joins.
func (l *Executor) revive(ctx context.Context, t task) error {
	return l.renewPod(ctx, t.State, t.Member(), t.Kube.Member(t.Member()).Pod.UID)
}

// restart deletes the pod that the record names, or else the one that was
// seen. Who asks for a restart also gets the template of this program, and
// nobody restarts with a template that somebody changed.
func (l *Executor) restart(ctx context.Context, t task) error {
	uid, verb := t.Kube.Member(t.Member()).Pod.UID, t.Verb()
	if verb == v1alpha1.VerbRestart || verb == v1alpha1.VerbRepair && t.Operation.Spec.Authority == "" {
		uid = t.Operation.Spec.Pods[t.Member()]
	}
	if slices.Contains(health.Tampered(t.State), t.Member()) || verb == v1alpha1.VerbRestart &&
		slices.Contains(rules.Drifted(t.State), t.Member()) {
		if err := l.renderAgain(ctx, t.State, t.Member()); err != nil {
			return err
		}
	}
	return l.renewPod(ctx, t.State, t.Member(), uid)
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
func (l *Executor) stop(ctx context.Context, t task) error {
	going := ""
	for _, m := range t.Members {
		k := t.Kube.Member(m)
		if k.Workload.Exists && !k.Workload.Terminating {
			if err := workload.Delete(ctx, l.Client, t.Cluster.Namespace, m, k.Workload.UID); err != nil {
				return fmt.Errorf("stop %s: %w", m, err)
			}
		}
		if k.Pod.Exists && !k.Pod.Terminating {
			if err := workload.DeletePod(ctx, l.Client, t.Cluster.Namespace, v1alpha1.PodName(m), k.Pod.UID); err != nil {
				return fmt.Errorf("stop the pod of %s: %w", m, err)
			}
		}
		if k.Workload.Exists || k.Pod.Exists {
			going = m
			// It may have written since its volume was read: a person can start it again between two commands.
			if err := l.forgetExamined(ctx, t.State, []string{m}); err != nil {
				return err
			}
		}
	}
	if going != "" {
		return notGone(going)
	}
	return nil
}

// retire stops a member that the database does not list any more, then drops its volume.
func (l *Executor) retire(ctx context.Context, t task) error {
	if err := l.stop(ctx, t); err != nil {
		return err
	}
	if err := pki.DeleteMemberCertificate(ctx, l.Client, t.Cluster.Namespace, t.Member()); err != nil {
		return fmt.Errorf("delete the certificate of %s: %w", t.Member(), err)
	}
	return l.deleteVolumes(ctx, t)
}

// deleteVolumes drops volumes and sees them gone.
func (l *Executor) deleteVolumes(ctx context.Context, t task) error {
	going := ""
	for _, m := range t.Members {
		v := t.Kube.Member(m).Volume
		if !v.Exists {
			continue
		}
		going = "the volume of " + m
		if err := l.endHelpers(ctx, t.State, v1alpha1.VolumeName(m)); err != nil {
			return err
		}
		if v.Terminating {
			continue
		}
		if err := workload.DeleteVolume(ctx, l.Client, t.Cluster.Namespace, v1alpha1.VolumeName(m), v.UID); err != nil {
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
