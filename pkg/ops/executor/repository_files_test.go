package executor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/repositories"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// nearby is the repository of that name, on a claim of one node, with a backup; opened counts the pods that serve it.
func nearby(b *opstest.Bench, opened *int) {
	b.T.Helper()
	secret, public, err := archive.NewSigner("shop/nearby")
	b.Must(err)
	d := bucket.Description{Name: "nearby", URL: "pvc:backups", Plain: true, OneNode: true, Trusted: []string{public}}
	secrets := bucket.Secrets{bucket.FileSigningKey: []byte(secret)}
	b.Must(repositories.Save(b.T.Context(), b.Client(), "shop", d, secrets))
	root := b.T.TempDir()
	s, err := store.NewSharedDirectory(root)
	b.Must(err)
	r, err := bucket.OpenIn(d, secrets, s, "shop", b.T.TempDir())
	b.Must(err)
	w, err := r.Writer(b.T.Context(), backupID, "db.old")
	b.Must(err)
	_, err = w.Write([]byte("keys and values"))
	b.Must(err)
	_, err = w.Commit(b.T.Context(), repository.Manifest{ID: backupID, Engine: "stub", Cluster: "db", Namespace: "shop",
		Version: "1.1.0", Operation: "db.old"}, b.Database.Opened)
	b.Must(err)
	b.Server.Created = func(p *corev1.Pod) {
		if p.Labels[v1alpha1.LabelPurpose] == helperpod.PurposeRepository {
			*opened++
			b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
			b.Serve(p, root)
		}
	}
}

// mountsClaim reports how a pod mounts the claim, beside others that do.
func mountsClaim(b *opstest.Bench, pod corev1.PodSpec, writable bool) {
	b.T.Helper()
	mount := slices.IndexFunc(pod.Containers[0].VolumeMounts,
		func(m corev1.VolumeMount) bool { return m.MountPath == bucket.MountedClaim })
	volume := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == "backups"
	})
	if mount < 0 || volume < 0 || pod.Containers[0].VolumeMounts[mount].ReadOnly == writable ||
		pod.Volumes[volume].PersistentVolumeClaim.ReadOnly == writable || pod.Affinity == nil {
		b.T.Errorf("the pod is %+v", pod)
	}
}

// TestLoaderOfNamedClaim: it reads the claim by itself, also as the user of the database, and while it does no pod is
// started that serves the claim.
func TestLoaderOfNamedClaim(t *testing.T) {
	opened := 0
	b := restoring(t, nil)
	c := b.Cluster()
	c.Spec.RestoreFrom.Repository = "nearby"
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	nearby(b, &opened)
	as := func(e engine.Engine) error {
		l := liveOf(b)
		l.Engine = e
		_, err := l.Perform(t.Context(), observation(b, l), loadStep(), func(int64, int64) {})
		return err
	}
	if err := as(owned{b.Database}); err == nil {
		t.Fatal("it did not wait")
	}
	p := b.Helper("db-1-load")
	if p == nil {
		t.Fatal("there is no loader")
	}
	mountsClaim(b, p.Spec, false)
	if groups := p.Spec.SecurityContext.SupplementalGroups; len(groups) != 1 {
		t.Errorf("its groups are %v", groups)
	}
	made := opened
	b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
	waits(b, loadStep(), "which mounts claim backups, is loading")
	if opened != made {
		t.Error("another pod opened the claim meanwhile")
	}
	b.Becomes(p.Name, opstest.Ended(p, 0, `{"proof":"15 keys, hash","mark":"mark","backup":"`+backupID+
		`","recorded":"15 keys, hash"}`))
	if _, err := perform(b, loadStep()); err != nil || !b.Cluster().Status.Bootstrap.Loaded || opened != made {
		t.Errorf("%v, and %d pods opened the claim", err, opened)
	}
}

// TestNamedClaimIsGone: a repository whose claim does not exist is refused before a pod waits for it.
func TestNamedClaimIsGone(t *testing.T) {
	opened := 0
	b, _ := backingUp(t)
	nearby(b, &opened)
	l := liveOf(b)
	_, err := l.findRepository(t.Context(), "nearby")
	if e, ok := errors.AsType[*ops.Error](err); !ok || e.Kind != ops.Refused || e.Check != "claim" ||
		!strings.Contains(e.Message, "backups in namespace shop, which nearby names") {
		t.Errorf("got %v", err)
	}
	claim(b, "backups")
	if at, err := l.findRepository(t.Context(), "nearby"); err != nil || at.Name != "nearby" || opened > 0 {
		t.Errorf("%+v, %v, and %d pods opened the claim", at, err, opened)
	}
}

// TestProveNamedClaim: the Job that compares stores what it found, and no pod is started that serves the claim while it
// runs.
func TestProveNamedClaim(t *testing.T) {
	opened := 0
	b, _ := backingUp(t)
	nearby(b, &opened)
	b.Op.Spec.Source = &v1alpha1.BackupSource{Repository: "nearby", Backup: backupID}
	step := ops.Step{Action: ops.ActionProveBackup}
	waits(b, step, "is starting")
	job := &batchv1.Job{}
	b.Must(b.Client().API.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: proveJob(b.Op)}, job))
	mountsClaim(b, job.Spec.Template.Spec, true)
	if opened != 1 {
		t.Errorf("%d pods opened the claim", opened)
	}
	waits(b, step, "is starting")
	if opened != 1 {
		t.Errorf("%d pods opened the claim", opened)
	}
}
