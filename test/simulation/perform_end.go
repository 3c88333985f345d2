package simulation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// stop deletes workloads and pods, and is not done before they are gone.
func (s *site) stop(ctx context.Context, st ops.State, members []string) error {
	w, going := s.actor.world, false
	for _, m := range members {
		k := st.Kube.Member(m)
		if k.Workload.Exists && !k.Workload.Terminating {
			if err := s.do(ctx, "delete workload of "+m, func() error {
				w.deleteWorkload(w.slot(s.cluster,
					m))
				return nil
			}); err != nil {
				return err
			}
		}
		if k.Pod.Exists && !k.Pod.Terminating {
			if err := s.deletePod(ctx, m, k.Pod.UID); err != nil {
				return err
			}
		}
		going = going || k.Workload.Exists || k.Pod.Exists
	}
	if going {
		return fmt.Errorf("still going: %w", engine.ErrNotReady)
	}
	return nil
}

// deletePod deletes exactly the pod that was seen.
func (s *site) deletePod(ctx context.Context, member, uid string) error {
	w := s.actor.world
	return s.do(ctx, "delete pod of "+member, func() error {
		if slot := w.slot(s.cluster, member); slot.pod != nil && strconv.Itoa(slot.pod.uid) == uid {
			w.restarting(s.actor, slot, w.records.clusters[s.cluster])
			w.sparing(s.actor, slot)
			w.reviving(s.actor, slot)
			w.descending(s.actor, slot, w.records.clusters[s.cluster].Spec.Version)
			w.deletePod(slot)
		}
		return nil
	})
}

func (s *site) deleteVolumes(ctx context.Context, st ops.State, members []string) error {
	w, going := s.actor.world, false
	for _, m := range members {
		v := st.Kube.Member(m).Volume
		if !v.Exists {
			continue
		}
		going = true
		if v.Terminating {
			continue
		}
		err := s.do(ctx, "delete volume of "+m, func() error {
			if slot := w.slot(s.cluster, m); slot.volume != nil && !slot.volume.deleting {
				w.dropping(s.actor, slot)
				slot.volume.deleting = true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if going {
		return fmt.Errorf("still going: %w", engine.ErrNotReady)
	}
	return nil
}

// renew gives a member its new template, then restarts its pod.
func (s *site) renew(ctx context.Context, st ops.State, member string, done func(observe.Pod) bool) error {
	w := s.actor.world
	if err := s.applyWorkload(ctx, st, member); err != nil {
		return err
	}
	seen := false
	err := s.actor.call(ctx, "read whether the template was seen", func() error {
		l := w.slot(s.cluster, member).workload
		seen = l != nil && !w.now.Before(l.seenAt)
		return nil
	})
	if err != nil {
		return err
	}
	if !seen {
		return fmt.Errorf("the template of %s has not been seen: %w", member, engine.ErrNotReady)
	}
	pod := st.Kube.Member(member).Pod
	if !pod.Exists || done(pod) {
		return nil
	}
	return s.deletePod(ctx, member, pod.UID)
}

// prepare readies running members for the wanted version.
func (s *site) prepare(ctx context.Context, st ops.State, members []string) (ops.Result, error) {
	w, version := s.actor.world, st.Cluster.Spec.Version
	for _, m := range members {
		err := s.do(ctx, "prepare "+m, func() error {
			slot := w.find(m)
			if !w.runs(slot) {
				return errNoLeader
			}
			slot.pod.process.data.prepared = minor(version)
			return nil
		})
		if err != nil {
			return ops.Result{}, err
		}
	}
	return ops.Result{Facts: map[string]string{v1alpha1.FactPrepared: version}}, nil
}

// descent announces a downgrade, or takes that back: nobody is prepared any more then.
func (s *site) descent(ctx context.Context, st ops.State, step ops.Step) (ops.Result, error) {
	w, token := s.actor.world, st.Cluster.Status.Bootstrap.Token
	if step.Action == ops.ActionAnnounce {
		return ops.Result{}, s.do(ctx, step.ID, func() error {
			return w.announce(s.cluster, token,
				minor(st.Cluster.Spec.Version))
		})
	}
	if err := s.do(ctx, step.ID, func() error { return w.withdraw(s.cluster, token) }); err != nil {
		return ops.Result{}, err
	}
	return ops.Result{Facts: map[string]string{v1alpha1.FactPrepared: ""}}, nil
}

// backup streams one member's data for a while.
func (s *site) backup(ctx context.Context, st ops.State, step ops.Step) (ops.Result, error) {
	w, op := s.actor.world, st.Operation
	done := ops.Result{Facts: map[string]string{v1alpha1.FactBackup: op.Spec.Backup}}
	have := false
	err := s.actor.call(ctx, "find the backup", func() error {
		b, ok := w.backups[op.Spec.Backup]
		have = ok && b.operation == op.Name
		return nil
	})
	if err != nil || have {
		return done, err
	}
	var b backup
	err = s.stream(ctx, func() (*stream, error) {
		slot := w.find(step.Members[0])
		if !w.runs(slot) || slot.pod.process.data.group == nil {
			return nil, errNoLeader
		}
		d := slot.pod.process.data
		b = backup{operation: op.Name, index: d.index, schema: d.schema, version: slot.pod.template.version,
			token: d.group.token, access: d.group.access.clone(),
			cluster: s.cluster, at: w.now, scheduled: op.Spec.Scheduled, proof: "whole"}
		if op.Spec.Verb == v1alpha1.VerbBackup && w.hasAgents() && w.weather.storm > 0 && !w.weather.spacious &&
			w.chance(0.3) {
			b.proof = "" // the sums of this copy were lost
		}
		d.group.safe = min(b.index,
			// a follower's copy is as old as its log: that is what was asked for
			d.group.acked)
		return &stream{from: slot, process: slot.pod.process}, nil
	})
	if err != nil {
		return ops.Result{}, err
	}
	return done, s.do(ctx, "complete the backup", func() error {
		w.backups[op.Spec.Backup] = b
		return nil
	})
}

// verify restores the backup into a throw-away member and compares.
func (s *site) verify(ctx context.Context, st ops.State) (ops.Result, error) {
	if err := s.actor.sleep(ctx, time.Duration(s.actor.rng.Int64N(int64(20*time.Second)))); err != nil {
		return ops.Result{}, err
	}
	w := s.actor.world
	err := s.actor.call(ctx, "compare", func() error {
		b, ok := w.backups[st.Operation.Spec.Backup]
		if !ok {
			return errors.New("no such backup")
		}
		if match := w.engine.CompareProofs(b.proof, b.proof); w.hasAgents() && match != engine.MatchSame &&
			!w.mischief.EmptyProofs {
			return &ops.Error{Kind: ops.Refused, Check: "unproven",
				Message: "nothing proves that it holds what was backed up"}
		}
		b.verified = true
		w.backups[st.Operation.Spec.Backup] = b
		return nil
	})
	return ops.Result{Facts: map[string]string{v1alpha1.FactVerified: st.Operation.Spec.Backup}}, err
}

// load puts a backup into the initial member's volume and says so in the cluster's object.
func (s *site) load(ctx context.Context, st ops.State, member string) error {
	w, c := s.actor.world, st.Cluster
	if err := s.makeVolume(ctx, st, member); err != nil {
		return err
	}
	if err := s.actor.sleep(ctx, time.Duration(s.actor.rng.Int64N(int64(10*time.Second)))); err != nil {
		return err
	}
	err := s.do(ctx, "load the backup", func() error {
		b, ok := w.backups[c.Spec.RestoreFrom.Backup]
		v := w.slot(s.cluster, member).volume
		switch {
		case !ok:
			return &ops.Error{Kind: ops.Failed, Message: "no such backup"}
		case w.engine.CheckRestore(b.version, c.Spec.Version) != nil:
			return w.engine.CheckRestore(b.version, c.Spec.Version)
		case v == nil || w.now.Before(v.boundAt):
			return fmt.Errorf("the volume is not bound: %w", engine.ErrNotReady)
		case v.data == nil:
			v.data = w.restored(b, c.Status.Bootstrap.Token, member)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.change(ctx, func(c *v1alpha1.DatabaseCluster) { c.Status.Bootstrap.Loaded = true })
}
