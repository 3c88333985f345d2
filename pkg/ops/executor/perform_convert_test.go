package executor

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func convertStep() ops.Step { return ops.Step{Action: ops.ActionConvert, Members: []string{"db-1"}} }

func revertStep() ops.Step { return ops.Step{Action: ops.ActionRevert, Members: []string{"db-1"}} }

// linked is a cluster whose new incarnation begins with the volume of a former member.
func linked(t *testing.T) *opstest.Bench {
	t.Helper()
	b := opstest.NewBench(t)
	c := b.Founded(3, "id")
	c.Spec.TLS.Disabled = true
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	b.Must(workload.ApplyVolume(t.Context(), b.Client(), c, "db-1"))
	b.Must(workload.ApplyVolume(t.Context(), b.Client(), c, "db-2"))
	b.Op = opstest.Operation(v1alpha1.VerbUpgrade)
	o := &b.Op.Spec
	o.InPlace, o.FromVersion, o.Version, o.Waive = true, c.Spec.Version, "1.2.0", []string{"downtime", ops.WaiverWayBack}
	o.Source = &v1alpha1.BackupSource{Repository: "dir:/backups", Backup: "b0", Version: c.Spec.Version}
	o.FromIncarnation = ops.IncarnationOf(c)
	for range 2 {
		done, err := perform(b, ops.Step{Action: ops.ActionNewIncarnation, Members: []string{"db-1"}})
		b.Must(err)
		if kept := done.Facts[v1alpha1.FactKept]; kept != "db-2" {
			t.Errorf("the record names %q as kept volumes", kept)
		}
	}
	f := b.Cluster().Status.Bootstrap
	if !slices.Equal(f.Members, []string{"db-1"}) || f.InPlace != v1alpha1.InPlaceAsked ||
		!ops.IncarnationStartedBy(b.Op, f.Token) || b.Cluster().Spec.RestoreFrom != nil {
		t.Fatalf("it begins as %+v, from %+v", f, b.Cluster().Spec.RestoreFrom)
	}
	return b
}

// token is that of the volume of a member.
func token(b *opstest.Bench, member string) string {
	b.T.Helper()
	return observation(b, liveOf(b)).Kube.Member(member).Volume.Token
}

// TestConvertInPlace: the volume is taken over before a pod writes to it. A pod that fails says why, and the next try
// makes another one.
func TestConvertInPlace(t *testing.T) {
	b := linked(t)
	waits(b, convertStep(), "is starting")
	if token(b, "db-1") != b.Cluster().Status.Bootstrap.Token {
		t.Error("a pod writes to a volume of the former incarnation")
	}
	p := b.Only()
	first := p.Spec.Containers[0]
	if !strings.HasPrefix(strings.Join(first.Command, " "), "/dbop/kubectl-dbop helper convert --engine stub --dir "+
		"/var/lib/stub/data --operation "+b.Cluster().Status.Bootstrap.Token) {
		t.Errorf("the pod runs %q", first.Command)
	}
	if m := mounted(first, "/var/lib/stub"); m == nil || m.ReadOnly || len(p.Spec.InitContainers) != 2 {
		t.Errorf("the volume is mounted as %+v, after %d containers", m, len(p.Spec.InitContainers))
	}
	b.Becomes(p.Name, opstest.Ended(p, 1, "public.odd.a"))
	if _, err := perform(b, convertStep()); err == nil || !strings.Contains(err.Error(), "public.odd.a") ||
		!strings.Contains(opstest.HintOf(err), "cancel db") || b.Helper(p.Name) != nil {
		t.Errorf("it failed: %v", err)
	}
	waits(b, convertStep(), "is starting")
	b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
	waits(b, convertStep(), "is converting")
	b.Becomes(p.Name, opstest.Ended(p, 0, ""))
	_, err := perform(b, convertStep())
	b.Must(err)
	if !b.Cluster().Status.Bootstrap.Loaded || b.Helper(p.Name) != nil {
		t.Error("it is not done")
	}
}

// TestRevertInPlace: the pod that converts ends before another one reads the volume; what that finds is written
// down, and the volume goes back before the record.
func TestRevertInPlace(t *testing.T) {
	for _, stage := range []v1alpha1.InPlace{v1alpha1.InPlaceReverted, v1alpha1.InPlaceFinal} {
		b := linked(t)
		was := b.Op.Spec.FromIncarnation.Bootstrap.Token
		waits(b, convertStep(), "is starting")
		waits(b, revertStep(), "is going")
		waits(b, revertStep(), "is starting")
		p := b.Only()
		if p.Name != "db-1-revert" {
			t.Fatalf("%s runs", p.Name)
		}
		b.Becomes(p.Name, opstest.Ended(p, 0, string(stage)))
		_, err := perform(b, revertStep())
		b.Must(err)
		if got := b.Cluster().Status.Bootstrap.InPlace; got != stage || b.Helper(p.Name) != nil {
			t.Errorf("the record says %q, want %q", got, stage)
		}
		if stage == v1alpha1.InPlaceReverted { // who changes their mind goes on
			waits(b, convertStep(), "is starting")
			if b.Cluster().Status.Bootstrap.InPlace != v1alpha1.InPlaceAsked {
				t.Error("a pod converts what the record says is reverted")
			}
			waits(b, revertStep(), "is going")
			c := b.Cluster()
			c.Status.Bootstrap.InPlace = stage
			b.Must(b.Store().UpdateCluster(t.Context(), c))
		}
		_, err = perform(b, ops.Step{Action: ops.ActionOldIncarnation})
		b.Must(err)
		if back := token(b, "db-1") == was; back != (stage == v1alpha1.InPlaceReverted) {
			t.Errorf("%s: the volume is a former one: %t", stage, back)
		}
		if b.Cluster().Status.Bootstrap.Token != was {
			t.Errorf("%s: the record was not put back", stage)
		}
	}
}

// TestConvertInPlaceGone: no empty volume takes the place of one that was deleted.
func TestConvertInPlaceGone(t *testing.T) {
	b := linked(t)
	b.Must(workload.DeleteVolume(t.Context(), b.Client(), "shop", v1alpha1.VolumeName("db-1"),
		observation(b, liveOf(b)).Kube.Member("db-1").Volume.UID))
	if _, err := perform(b, convertStep()); err == nil || ops.Refusal(err).Check != "volumes" || b.Helper(
		"db-1-convert") != nil {
		t.Errorf("%v", err)
	}
}
