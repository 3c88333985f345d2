package executor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// restoringClaim is a cluster that begins from a backup in a claim. Pods that serve that run; opened counts them.
func restoringClaim(t *testing.T, opened *int) *opstest.Bench {
	t.Helper()
	b := restoring(t, nil)
	c := b.Cluster()
	at, err := repository.ParseLocation(c.Spec.RestoreFrom.Repository)
	b.Must(err)
	c.Spec.RestoreFrom.Repository, c.Spec.Storage.ClassName = "pvc:backups/etcd", new("fast")
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	claim(b, "backups")
	opstest.Edit(b, &corev1.PersistentVolumeClaim{}, "backups", func(o *corev1.PersistentVolumeClaim) {
		o.Spec.StorageClassName, o.Status.Phase = new("fast"), corev1.ClaimBound
		o.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "node-a"}
	})
	b.Server.Created = func(p *corev1.Pod) {
		if p.Labels[v1alpha1.LabelPurpose] == helperpod.PurposeRepository {
			*opened++
			b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
			b.Serve(p, at.Path)
		}
	}
	return b
}

// reads reports whether a loader mounts the claim, and only reads it.
func reads(b *opstest.Bench) bool {
	b.T.Helper()
	p := b.Helper("db-1-load")
	if p == nil {
		b.T.Fatal("there is no loader")
	}
	from := slices.Contains(p.Spec.Containers[0].Command, "--from-directory")
	mounted := slices.ContainsFunc(p.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == "repository" && m.ReadOnly && m.SubPath == "etcd" && m.MountPath == "/repository"
	})
	if from != mounted || from == slices.Contains(p.Spec.Containers[0].Command, "--listen") {
		b.T.Errorf("the loader is %+v", p.Spec)
	}
	return mounted
}

// TestLoaderMountsTheClaim: it reads the backup by itself, and nothing else opens the claim meanwhile.
func TestLoaderMountsTheClaim(t *testing.T) {
	opened := 0
	b := restoringClaim(t, &opened)
	waits(b, loadStep(), "helper pod db-1-load is starting")
	if !reads(b) || opened != 1 {
		t.Fatalf("it is sent the backup, or %d pods opened the claim", opened)
	}
	p := b.Helper("db-1-load")
	b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
	waits(b, loadStep(), "which mounts claim backups, is loading")
	if opened != 1 {
		t.Error("another pod opened the claim meanwhile")
	}
	b.Becomes(p.Name, opstest.Ended(p, 0, `{"proof":"15 keys, hash","mark":"mark","backup":"`+backupID+
		`","recorded":"15 keys, hash"}`))
	if _, err := perform(b, loadStep()); err != nil {
		t.Fatal(err)
	}
	if f := b.Cluster().Status.Bootstrap; !f.Loaded || f.ExpectedProof != "15 keys, hash" || f.ExpectedMark != "mark" ||
		b.Helper(p.Name) != nil || opened != 1 {
		t.Errorf("%+v, and %d pods opened the claim", f, opened)
	}
}

// owned is an engine whose data belongs to a user of its own.
type owned struct{ engine.Engine }

func (o owned) Pod(in engine.PodInput) (engine.Pod, error) {
	p, err := o.Engine.Pod(in)
	p.User = 999
	return p, err
}

// TestLoaderIsServedTheClaim: a container of this tool's own user reads the files, which another user may not. The
// loader's end counts, for the other one has none.
func TestLoaderIsServedTheClaim(t *testing.T) {
	for _, c := range []struct {
		code   int32
		leaves string
	}{{0, `{"backup":"` + backupID + `","recorded":"15 keys, hash"}`}, {1, "the backup is damaged"}} {
		t.Run(c.leaves, func(t *testing.T) {
			opened := 0
			b := restoringClaim(t, &opened)
			load := func() error {
				l := liveOf(b)
				l.Engine = owned{l.Engine}
				_, err := l.Perform(t.Context(), observation(b, l), loadStep(), func(int64, int64) {})
				return err
			}
			if err := load(); !errors.Is(err, engine.ErrNotReady) || !strings.Contains(err.Error(), "is starting") {
				t.Fatal(err)
			}
			p := b.Helper("db-1-load")
			served(t, p)
			b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
			if err := load(); !errors.Is(err, engine.ErrNotReady) || !strings.Contains(err.Error(), "is loading") {
				t.Error(err)
			}
			now := opstest.Ended(p, c.code, c.leaves)
			now.Phase = corev1.PodRunning
			b.Becomes(p.Name, now)
			err := load()
			if f := b.Cluster().Status.Bootstrap; c.code == 0 {
				if err != nil || !f.Loaded || f.ExpectedProof != "15 keys, hash" || b.Helper(p.Name) != nil {
					t.Errorf("%v, %+v", err, f)
				}
			} else if e, ok := errors.AsType[*ops.Error](err); !ok || !strings.Contains(e.Message, c.leaves) || f.Loaded {
				t.Errorf("%v, %+v", err, f)
			}
			if opened != 1 {
				t.Errorf("%d pods opened the claim", opened)
			}
		})
	}
}

// served checks that a loader reads from a container of another user, which alone sees the claim, and only reads it.
func served(t *testing.T, p *corev1.Pod) {
	t.Helper()
	if len(p.Spec.Containers) != 2 {
		t.Fatalf("the loader is %+v", p.Spec)
	}
	loader, other := p.Spec.Containers[0], p.Spec.Containers[1]
	mounts := func(m corev1.VolumeMount) bool { return m.Name == "repository" }
	if !slices.Contains(loader.Command, "--from-server") || slices.ContainsFunc(loader.VolumeMounts, mounts) ||
		*p.Spec.SecurityContext.RunAsUser != 999 {
		t.Errorf("it loads by %+v", loader)
	}
	if i := slices.IndexFunc(other.VolumeMounts, mounts); i < 0 || !other.VolumeMounts[i].ReadOnly ||
		other.VolumeMounts[i].SubPath != "etcd" || *other.SecurityContext.RunAsUser == 999 {
		t.Errorf("it is served by %+v", other)
	}
	for _, v := range p.Spec.Volumes {
		if v.Name == "repository" && !v.PersistentVolumeClaim.ReadOnly {
			t.Error("the claim can be written")
		}
	}
}

// TestLoaderIsSentTheBackup where it can't mount the claim, and it says why.
func TestLoaderIsSentTheBackup(t *testing.T) {
	t.Run("the claim is in use", func(t *testing.T) {
		opened := 0
		b := restoringClaim(t, &opened)
		p := &corev1.Pod{ObjectMeta: opstest.Object("other", nil)}
		p.Spec.Volumes = []corev1.Volume{{Name: "b", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "backups"}}}}
		b.Must(b.Server.Raw.Create(t.Context(), p))
		waits(b, loadStep(), "it is sent the backup, for pod other uses claim backups")
		if reads(b) {
			t.Error("it mounts the claim")
		}
	})
	for name, says := range map[string]string{"no node has room": "0/1 nodes are available: 1 Insufficient memory.",
		"no node has both": "0/2 nodes are available: 2 node(s) had volume node affinity conflict."} {
		t.Run(name, func(t *testing.T) {
			opened := 0
			b := restoringClaim(t, &opened)
			waits(b, loadStep(), "is starting")
			for _, age := range []time.Duration{0, time.Hour} {
				if !reads(b) {
					t.Fatal("it is sent the backup before it is known that it finds no node")
				}
				b.Becomes("db-1-load", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: says,
					LastTransitionTime: metav1.NewTime(time.Now().Add(-age))}}})
				waits(b, loadStep(), "db-1-load")
			}
			if reads(b) {
				t.Error("it mounts the claim for ever")
			}
		})
	}
}

// TestLoaderThatMountsFails: what it says ends the operation, and nothing else opens the claim.
func TestLoaderThatMountsFails(t *testing.T) {
	opened := 0
	b := restoringClaim(t, &opened)
	waits(b, loadStep(), "is starting")
	p := b.Helper("db-1-load")
	b.Becomes(p.Name, opstest.Ended(p, 1, "the bytes are damaged"))
	_, err := perform(b, loadStep())
	if ops.KindOf(err) != ops.NeedsHuman || !strings.Contains(err.Error(), "the bytes are damaged") || opened != 1 {
		t.Errorf("%v, and %d pods opened the claim", err, opened)
	}
	if b.Helper(p.Name) != nil {
		t.Error("it stays")
	}
}

// TestMountedLoadSurvivesACrashAtEveryWrite, also once the volume exists, with which a new loader is sent the backup.
func TestMountedLoadSurvivesACrashAtEveryWrite(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for _, before := range []bool{true, false} {
			opened := 0
			b := restoringClaim(t, &opened)
			b.Server.CrashAt, b.Server.Before = len(b.Server.Writes)+n, before
			volume, crashes, ended := t.TempDir(), 0, false
			for range 12 {
				switch p := b.Helper("db-1-load"); {
				case p == nil:
				case reads(b):
					b.Becomes(p.Name, opstest.Ended(p, 0, `{"proof":"15 keys, hash","mark":"mark"}`))
					opstest.Edit(b, &corev1.PersistentVolumeClaim{}, "db-1",
						func(o *corev1.PersistentVolumeClaim) { o.Spec.VolumeName = "pv-1" })
				default:
					b.Loader(p.Name, volume)
				}
				_, err := perform(b, loadStep())
				if b.Server.Crashed { // also while it closed the claim, which ends well in any case
					crashes++
					b.Server.CrashAt, b.Server.Crashed = 0, false
				}
				if ended = err == nil; ended {
					break
				}
				if !errors.Is(err, engine.ErrNotReady) && !errors.Is(err, opstest.ErrCrash) {
					t.Fatalf("write %d, before %v: %v", n, before, err)
				}
			}
			f := b.Cluster().Status.Bootstrap
			if crashes != 1 || !ended || !f.Loaded || f.ExpectedProof != "15 keys, hash" || b.Helper("db-1-load") != nil {
				t.Errorf("write %d, before %v: %d crashes, ended %v, formation %+v", n, before, crashes, ended, f)
			}
		}
	}
}
