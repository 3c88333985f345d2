package simulation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// examine reads a member's volume for a while.
func (s *site) examine(ctx context.Context, members []string) (ops.Result, error) {
	facts := map[string]string{}
	for _, m := range members {
		report, err := s.examineVolume(ctx, m)
		if err != nil {
			return ops.Result{}, err
		}
		facts[v1alpha1.FactExamined(m)] = report
	}
	return ops.Result{Facts: facts}, nil
}

func (s *site) examineVolume(ctx context.Context, member string) (string, error) {
	w := s.actor.world
	if err := s.actor.sleep(ctx, time.Duration(s.actor.rng.Int64N(int64(10*time.Second)))); err != nil {
		return "", err
	}
	var report []byte
	err := s.do(ctx, "examine "+member, func() error {
		slot := w.slot(s.cluster, member)
		if slot.volume == nil {
			return fmt.Errorf("the volume of %s can't be mounted: %w", member, engine.ErrNotReady)
		}
		if slot.pod != nil && slot.pod.process != nil {
			w.violate("%s examines the volume of %s, which runs", s.actor.name, member)
		}
		var err error
		report, err = json.Marshal(slot.volume.data.leftovers())
		return err
	})
	return string(report), err
}

// leftovers is what data says of itself; positions are those of its engine.
func (d *data) leftovers() engine.DataDirInfo {
	if d == nil || d.group == nil {
		return engine.DataDirInfo{Problem: "there is no data"}
	}
	r := engine.DataDirInfo{Intact: !d.broken, MemberID: d.id, ClusterID: d.group.clusterID,
		Position: engine.Position(fmt.Sprintf("%s/%d/%d/%d", d.group.clusterID, d.term, d.index, d.index))}
	if d.group.agreement != nil {
		//nolint:gosec // small numbers
		r.Position = agreed.DataEnd{System: d.group.clusterID, Timeline: uint64(d.term), Offset: uint64(d.index),
			Forks: d.forks}.Encode()
	}
	if d.broken {
		r.Problem = "a page is damaged"
	}
	return r
}

// recoverData backs up a copy of one volume, which must hold all of the others unless a person named it.
func (s *site) recoverData(ctx context.Context, st ops.State, member string) (ops.Result, error) {
	w, op := s.actor.world, st.Operation
	if err := s.actor.sleep(ctx, time.Duration(s.actor.rng.Int64N(int64(20*time.Second)))); err != nil {
		return ops.Result{}, err
	}
	err := s.do(ctx, "recover data of "+member, func() error {
		if b, ok := w.backups[op.Spec.Backup]; ok && b.operation == op.Name {
			return nil
		}
		slot := w.slot(s.cluster, member)
		if slot.volume == nil || slot.volume.data == nil || slot.volume.data.broken {
			return errors.New("it does not serve")
		}
		d := slot.volume.data
		for _, other := range w.slots {
			if v := other.volume; v != nil && v.token == slot.volume.token && v.data != nil && !v.data.broken &&
				op.Spec.Member != member && d.lacks(v.data) {
				w.violate("%s starts again from %s (term %d, index %d), and %s goes further (term %d, index %d)",
					s.actor.name, member, d.term, d.index, other.name, v.data.term, v.data.index)
			}
		}
		w.backups[op.Spec.Backup] = backup{operation: op.Name, index: d.index, schema: d.schema,
			version: st.Cluster.Spec.Version, token: d.group.token}
		return nil
	})
	return ops.Result{Facts: map[string]string{v1alpha1.FactBackup: op.Spec.Backup}}, err
}

// lacks reports whether the other holds something that this does not.
func (d *data) lacks(o *data) bool {
	if d.group.agreement == nil || d.term == o.term {
		return d.behind(o)
	}
	for _, f := range d.forks {
		if int(f.Timeline) == o.term { //nolint:gosec // a small number
			return o.index > int(f.End) //nolint:gosec // a small number
		}
	}
	return true
}

// behind is raft's rule of who may lead whom.
func (d *data) behind(o *data) bool {
	return cmp.Or(cmp.Compare(d.term, o.term), cmp.Compare(d.index, o.index)) < 0
}
