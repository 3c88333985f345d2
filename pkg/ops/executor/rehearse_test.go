package executor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/repositories"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// claim makes a PersistentVolumeClaim.
func claim(b *opstest.Bench, name string) {
	b.T.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	claim.Namespace, claim.Name = "shop", name
	b.Must(b.Server.API.Create(b.T.Context(), claim))
}

// TestRehearseFindsTheClaim: a claim that does not exist is refused before a pod waits for it.
func TestRehearseFindsTheClaim(t *testing.T) {
	for name, c := range map[string]struct {
		verb          v1alpha1.Verb
		claim, mounts string
		action        ops.Action
		refused       bool
	}{
		"there is none":                       {v1alpha1.VerbBackup, "", "", ops.ActionBackup, true},
		"there is one":                        {v1alpha1.VerbBackup, "backups", "", ops.ActionBackup, false},
		"it is mounted here":                  {v1alpha1.VerbBackup, "", "pvc:backups", ops.ActionBackup, false},
		"there is none, before an upgrade":    {v1alpha1.VerbUpgrade, "", "", ops.ActionBackup, true},
		"there is none, before a deletion":    {v1alpha1.VerbDelete, "", "", ops.ActionBackup, true},
		"there is none, before a recovery":    {v1alpha1.VerbRecover, "", "", ops.ActionRecoverData, true},
		"there is none for a new cluster":     {v1alpha1.VerbCreate, "", "", ops.ActionServices, true},
		"there is one for a new cluster":      {v1alpha1.VerbCreate, "backups", "", ops.ActionServices, false},
		"there is none, and services are":     {v1alpha1.VerbRepair, "", "", ops.ActionServices, false},
		"there is none to restore from":       {v1alpha1.VerbRestore, "", "", ops.ActionLoad, true},
		"there is none for a schedule":        {v1alpha1.VerbSchedule, "", "", ops.ActionSchedule, true},
		"there is one for a schedule":         {v1alpha1.VerbSchedule, "backups", "", ops.ActionSchedule, false},
		"there is one, but of another name":   {v1alpha1.VerbBackup, "backup", "", ops.ActionBackup, true},
		"there is none, and no step needs it": {v1alpha1.VerbRestart, "", "", ops.ActionRestart, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := backingUp(t)
			b.Op.Spec.Repository = "pvc:backups"
			if c.claim != "" {
				claim(b, c.claim)
			}
			namespace := &corev1.Namespace{}
			namespace.Name = "shop"
			b.Must(b.Server.API.Create(t.Context(), namespace))
			l := liveOf(b)
			l.ReadOnly = true
			if c.mounts != "" {
				l.Mounted = map[string]string{c.mounts: t.TempDir()}
			}
			s, before := observation(b, l), len(b.Server.Writes)
			b.Op.Spec.Verb, s.Cluster.Spec.Backup.Repository = c.verb, "pvc:backups"
			if c.verb == v1alpha1.VerbRestore {
				b.Op.Spec.Source = &v1alpha1.BackupSource{Repository: "pvc:backups", Backup: "other"}
			}
			err := l.Rehearse(t.Context(), s, ops.Step{Action: c.action, Members: []string{"db-1"}})
			if pods := b.Server.Writes[before:]; len(pods) > 0 {
				t.Errorf("an observation made %v", pods)
			}
			if !c.refused {
				b.Must(err)
				return
			}
			if e, ok := errors.AsType[*ops.Error](err); !ok || e.Kind != ops.Refused || e.Check != "claim" ||
				!strings.Contains(e.Message, "no persistentvolumeclaim backups in namespace shop") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestRehearseWritesToTheRepository: what can't be written to, or is too small, is refused.
func TestRehearseWritesToTheRepository(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url   string
		bytes int64
		check string
		cause error
	}{
		"a directory":           {"dir:" + dir, 1, "", nil},
		"one that is not there": {"dir:" + filepath.Join(dir, "not", "yet"), 1, "", nil},
		"a device":              {"dir:/dev/null", 1, "repository", nil},
		"what nobody can make":  {"dir:/proc/x", 1, "repository", nil},
		"a file":                {"dir:" + file, 1, "repository", nil},
		"below a file":          {"dir:" + filepath.Join(file, "below"), 1, "repository", nil},
		"too small":             {"dir:" + dir, 1 << 62, "repository-space", repository.ErrNoSpace},
		"another kind":          {"s3://x", 1, "repository", repository.ErrLocation},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := backingUp(t)
			l := liveOf(b)
			s := observation(b, l)
			b.Op.Spec.Repository, s.View.Members[0].DataBytes = c.url, c.bytes
			err := l.Rehearse(t.Context(), s, backupStep())
			if c.check == "" {
				b.Must(err)
				return
			}
			e, ok := errors.AsType[*ops.Error](err)
			if !ok || e.Kind != ops.Refused || e.Check != c.check || e.Hint == "" ||
				(c.cause != nil && !errors.Is(err, c.cause)) {
				t.Errorf("got %#v", err)
			}
		})
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

// TestRehearseOpensTheClaim: under the lease a helper pod writes to the claim,
// and is deleted afterwards.
func TestRehearseOpensTheClaim(t *testing.T) {
	for name, writable := range map[string]bool{"writable": true, "not writable": false} {
		t.Run(name, func(t *testing.T) {
			b, _ := backingUp(t)
			b.Op.Spec.Repository = "pvc:backups"
			claim(b, "backups")
			root := filepath.Join(t.TempDir(), "root")
			b.Server.Created = func(p *corev1.Pod) {
				b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
				b.Serve(p, root)
				if !writable {
					// The server makes the directory before it serves, and must have done so.
					for _, err := os.Stat(root); err != nil; _, err = os.Stat(root) {
						time.Sleep(time.Millisecond)
					}
					b.Must(os.RemoveAll(root))
					b.Must(os.WriteFile(root, nil, 0o600))
				}
			}
			l := liveOf(b)
			err := l.Rehearse(t.Context(), observation(b, l), backupStep())
			if (err == nil) != writable || !writable && ops.KindOf(err) != ops.Refused {
				t.Errorf("got %v", err)
			}
			var pods corev1.PodList
			b.Must(b.Server.API.List(t.Context(), &pods))
			for _, p := range pods.Items {
				if p.Labels[v1alpha1.LabelPurpose] != "" {
					t.Errorf("helper pod %s stays", p.Name)
				}
			}
		})
	}
}

// TestRehearseReadsTheBackup that a restore needs.
func TestRehearseReadsTheBackup(t *testing.T) {
	b, _ := backingUp(t)
	_, err := perform(b, backupStep())
	b.Must(err)
	l := liveOf(b)
	s := observation(b, l)
	s.Operation = opstest.Operation(v1alpha1.VerbRestore)
	for id, there := range map[string]bool{backupID: true, "db-20300102T030405Z-ffff": false} {
		s.Operation.Spec.Source = &v1alpha1.BackupSource{Repository: b.Op.Spec.Repository, Backup: id}
		err := l.Rehearse(t.Context(), s, ops.Step{Action: ops.ActionLoad})
		if (err == nil) != there || !there && (ops.KindOf(err) != ops.Refused || !errors.Is(err, repository.ErrNotFound)) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestRehearseFindsTheStorageClass: a class that does not exist is refused where a volume would be made of it.
func TestRehearseFindsTheStorageClass(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}, "",
		errors.New("no such right"))
	for name, c := range map[string]struct {
		class   *string
		step    ops.Step
		change  func(*opstest.Bench)
		refused string
	}{
		"unknown": {class: new("fats"), step: ops.Step{Action: ops.ActionStart, Members: []string{"db-9"}},
			refused: "name one that exists: fast, slow"},
		"unknown, of a restore": {class: new("fats"), step: ops.Step{Action: ops.ActionLoad, Members: []string{"db-9"}},
			refused: "name one that exists: fast, slow"},
		"known":               {class: new("fast"), step: ops.Step{Action: ops.ActionStart, Members: []string{"db-9"}}},
		"the default":         {step: ops.Step{Action: ops.ActionStart, Members: []string{"db-9"}}},
		"none on purpose":     {class: new(""), step: ops.Step{Action: ops.ActionStart, Members: []string{"db-9"}}},
		"the volume is there": {class: new("fats"), step: ops.Step{Action: ops.ActionStart, Members: []string{"db-1"}}},
		"a volume made by hand has it": {class: new("manual"),
			step: ops.Step{Action: ops.ActionStart, Members: []string{"db-9"}}, change: func(b *opstest.Bench) {
				v := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{StorageClassName: "manual"}}
				v.Name = "disk-1"
				b.Must(b.Server.API.Create(b.T.Context(), v))
			}},
		"classes can't be read": {class: new("fats"), step: ops.Step{Action: ops.ActionStart, Members: []string{"db-9"}},
			change: func(b *opstest.Bench) {
				b.Server.API = interceptor.NewClient(b.Server.Raw, interceptor.Funcs{
					List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
						if _, ok := l.(*storagev1.StorageClassList); ok {
							return forbidden
						}
						return c.List(ctx, l, opts...)
					}})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := backingUp(t)
			for _, name := range []string{"slow", "fast"} {
				class := &storagev1.StorageClass{Provisioner: "example.com/disks"}
				class.Name = name
				b.Must(b.Server.API.Create(t.Context(), class))
			}
			if c.change != nil {
				c.change(b)
			}
			l := liveOf(b)
			s := observation(b, l)
			s.Cluster.Spec.Storage.ClassName = c.class
			err := l.Rehearse(t.Context(), s, c.step)
			if c.refused == "" {
				if e, ok := errors.AsType[*ops.Error](err); ok && e.Check == "storage-class" {
					t.Error(err)
				}
				return
			}
			if e, ok := errors.AsType[*ops.Error](err); !ok || e.Check != "storage-class" || e.Hint != c.refused ||
				!strings.Contains(e.Message, "no storage class fats") {
				t.Errorf("%v", err)
			}
		})
	}
}

// archiving is an engine whose log goes to a repository.
type archiving struct {
	engine.Engine
	engine.LogArchiver
}

func (archiving) ArchiveRepository(v1alpha1.DatabaseClusterSpec) string { return "offsite" }

// TestRehearseFindsTheArchive: a repository that does not exist is refused before members keep a log for it.
func TestRehearseFindsTheArchive(t *testing.T) {
	b, _ := backingUp(t)
	namespace := &corev1.Namespace{}
	namespace.Name = "shop"
	b.Must(b.Server.API.Create(t.Context(), namespace))
	l := liveOf(b)
	s := observation(b, l)
	for _, step := range []ops.Step{{Action: ops.ActionServices}, {Action: ops.ActionConfigure}} {
		b.Must(l.Rehearse(t.Context(), s, step))
	}
	l.Engine = archiving{Engine: l.Engine}
	for _, step := range []ops.Step{{Action: ops.ActionServices}, {Action: ops.ActionConfigure}} {
		var refused *ops.Error
		if err := l.Rehearse(t.Context(), s, step); !errors.As(err, &refused) || refused.Kind != ops.Refused ||
			!strings.Contains(err.Error(), "no repository offsite in namespace shop") {
			t.Errorf("%s: %v", step.Action, err)
		}
	}
}

// TestRehearseVerification: a verification that nobody in the cluster could read is refused before a backup is taken. A
// run of a schedule takes its backup all the same.
func TestRehearseVerification(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		description bucket.Description
		action      ops.Action
		every       v1alpha1.Interval
		scheduled   bool
		refused     bool
	}{
		"not encrypted":            {bucket.Description{Plain: true}, ops.ActionVerify, "", false, false},
		"with a key":               {bucket.Description{Identity: true}, ops.ActionVerify, "", false, false},
		"without a key":            {bucket.Description{}, ops.ActionVerify, "", false, true},
		"of a run of a schedule":   {bucket.Description{}, ops.ActionVerify, "", true, false},
		"a schedule that verifies": {bucket.Description{}, ops.ActionSchedule, v1alpha1.Daily, false, true},
		"a schedule that does not": {bucket.Description{}, ops.ActionSchedule, "", false, false},
		"a schedule that may": {bucket.Description{Identity: true}, ops.ActionSchedule, v1alpha1.Daily, false,
			false},
		"a backup without verification": {bucket.Description{}, ops.ActionProveBackup, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := backingUp(t)
			claim(b, "backups")
			d := c.description
			d.Name, d.URL = "nearby", "pvc:backups"
			if !d.Plain {
				d.Recipients = []string{key.Recipient().String()}
			}
			b.Must(repositories.Save(t.Context(), b.Client(), "shop", d, nil))
			l := liveOf(b)
			s := observation(b, l)
			s.Cluster.Spec.Backup = v1alpha1.BackupPolicy{Repository: "nearby", Verify: c.every}
			b.Op.Spec.Repository, b.Op.Spec.Scheduled = "nearby", c.scheduled
			err := l.Rehearse(t.Context(), s, ops.Step{Action: c.action})
			if !c.refused {
				b.Must(err)
				return
			}
			if e, ok := errors.AsType[*ops.Error](err); !ok || e.Kind != ops.Refused || e.Check != "key" ||
				!strings.Contains(e.Hint, "kubectl dbop repository add nearby --url pvc:backups --identity-file FILE") {
				t.Errorf("%v", err)
			}
		})
	}
}
