package executor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/repositories"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// offsite is an object store with a backup of the cluster, and the directory that holds its objects.
func offsite(b *opstest.Bench) (r *bucket.Repository, root string) {
	b.T.Helper()
	secret, public, err := archive.NewSigner("shop/offsite")
	b.Must(err)
	d := bucket.Description{Name: "offsite", URL: "s3://backups", Plain: true, Trusted: []string{public}}
	secrets := bucket.Secrets{bucket.FileSigningKey: []byte(secret)}
	b.Must(repositories.Save(b.T.Context(), b.Client(), "shop", d, secrets))
	root = b.T.TempDir()
	s, err := store.NewSharedDirectory(root)
	b.Must(err)
	r, err = bucket.OpenIn(d, secrets, s, "shop", b.T.TempDir())
	b.Must(err)
	w, err := r.Writer(b.T.Context(), backupID, "db.old")
	b.Must(err)
	_, err = w.Write([]byte("keys and values"))
	b.Must(err)
	_, err = w.Commit(b.T.Context(), repository.Manifest{ID: backupID, Engine: "stub", Cluster: "db", Namespace: "shop",
		Version: "1.1.0", Operation: "db.old", ClusterID: b.Cluster().Status.Bootstrap.ClusterID}, b.Database.Opened)
	b.Must(err)
	return r, root
}

// TestProveIntactInJob: a Job reads what is in an object store, and records what it finds there. Who waits for it says
// the same, and notes it on the cluster. That the Job could not read says nothing of the backup.
func TestProveIntactInJob(t *testing.T) {
	for name, c := range map[string]struct {
		// job is what the Job does, ends how Kubernetes says that it ended.
		job   func(b *opstest.Bench, r *bucket.Repository, root string)
		ends  batchv1.JobConditionType
		check string
		noted string
	}{
		"intact": {
			job: func(b *opstest.Bench, r *bucket.Repository, _ string) {
				b.Must(r.Prove(b.T.Context(), backupID, repository.Proof{By: "me"}))
			},
			ends: batchv1.JobComplete, noted: "intact",
		},
		"damaged": {
			job: func(b *opstest.Bench, r *bucket.Repository, root string) {
				files, err := filepath.Glob(filepath.Join(root, "data", "*", "*", "*", "*"))
				b.Must(err)
				content, err := os.ReadFile(files[0])
				b.Must(err)
				b.Must(os.WriteFile(files[0], flip(content), 0o600))
				if err := r.Prove(b.T.Context(), backupID, repository.Proof{By: "me"}); !errors.Is(err,
					repository.ErrDamaged) {
					b.T.Fatal(err)
				}
			},
			ends: batchv1.JobFailed, check: CheckDamage, noted: "failed intact",
		},
		"it could not read": {ends: batchv1.JobFailed, check: ops.CheckJobFailed},
		"it could not read, and a restoration failed before": {
			job: func(b *opstest.Bench, r *bucket.Repository, _ string) {
				b.Must(r.AddProof(b.T.Context(), backupID, repository.Proof{Level: repository.LevelRestorable, Failed: true,
					Reason: "it restores to something else"}))
			},
			ends: batchv1.JobFailed, check: ops.CheckJobFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := plain(t)
			r, root := offsite(b)
			prove := func() error {
				return liveOf(b).ProveBackup(t.Context(), ops.State{Cluster: b.Cluster(), Now: b.Client().Now()}, r,
					Proving{Backup: backupID, Level: repository.LevelIntact, By: "me"}, func(int64, int64) {})
			}
			for range 2 { // a repeat finds the Job
				if err := prove(); !errors.Is(err, engine.ErrNotReady) {
					t.Fatalf("it does not wait: %v", err)
				}
			}
			jobs := &batchv1.JobList{}
			b.Must(b.Client().API.List(t.Context(), jobs, client.InNamespace("shop")))
			if len(jobs.Items) != 1 {
				t.Fatalf("%d jobs", len(jobs.Items))
			}
			job := jobs.Items[0]
			if args := strings.Join(job.Spec.Template.Spec.Containers[0].Args, " "); !strings.Contains(args,
				"--backup "+backupID) || !strings.Contains(args, "--by me") {
				t.Errorf("it runs %q", args)
			}
			all, err := r.Archive().List(t.Context(), archive.Scope{})
			if err != nil || !slices.ContainsFunc(all.Entries, func(e archive.Entry) bool { return !e.HeldUntil.IsZero() }) {
				t.Errorf("nothing holds the backup: %v", err)
			}
			if c.job != nil {
				c.job(b, r, root)
			}
			opstest.Edit(b, &batchv1.Job{}, job.Name, func(j *batchv1.Job) {
				j.Status.Conditions = []batchv1.JobCondition{{Type: c.ends, Status: corev1.ConditionTrue}}
			})
			err = prove()
			if e, ok := errors.AsType[*ops.Error](err); (c.check != "") != (err != nil) || ok && e.Check != c.check {
				t.Errorf("it says %v", err)
			}
			b.Must(b.Client().API.List(t.Context(), jobs, client.InNamespace("shop")))
			if len(jobs.Items) != 0 {
				t.Error("the job is left")
			}
			noted := ""
			if p := b.Cluster().Status.LastProof; p != nil {
				noted = p.Level
			}
			if p := b.Cluster().Status.FailedProof; p != nil {
				noted = "failed " + p.Level
			}
			if noted != c.noted {
				t.Errorf("noted %q, want %q", noted, c.noted)
			}
		})
	}
}
