package ops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// claim makes a PersistentVolumeClaim.
func (b *bench) claim(name string) {
	b.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	claim.Namespace, claim.Name = "shop", name
	b.must(b.server.api.Create(b.t.Context(), claim))
}

// TestRehearseFindsTheClaim: a claim that does not exist is refused before a pod waits for it.
func TestRehearseFindsTheClaim(t *testing.T) {
	for name, c := range map[string]struct {
		verb          v1alpha1.Verb
		claim, mounts string
		action        Action
		refused       bool
	}{
		"there is none":                       {v1alpha1.VerbBackup, "", "", ActionBackup, true},
		"there is one":                        {v1alpha1.VerbBackup, "backups", "", ActionBackup, false},
		"it is mounted here":                  {v1alpha1.VerbBackup, "", "pvc:backups", ActionBackup, false},
		"there is none, before an upgrade":    {v1alpha1.VerbUpgrade, "", "", ActionBackup, true},
		"there is none, before a deletion":    {v1alpha1.VerbDelete, "", "", ActionBackup, true},
		"there is none, before a recovery":    {v1alpha1.VerbRecover, "", "", ActionSalvage, true},
		"there is none for a new cluster":     {v1alpha1.VerbCreate, "", "", ActionServices, true},
		"there is one for a new cluster":      {v1alpha1.VerbCreate, "backups", "", ActionServices, false},
		"there is none, and services are":     {v1alpha1.VerbRepair, "", "", ActionServices, false},
		"there is none to restore from":       {v1alpha1.VerbRestore, "", "", ActionLoad, true},
		"there is none for a schedule":        {v1alpha1.VerbSchedule, "", "", ActionSchedule, true},
		"there is one for a schedule":         {v1alpha1.VerbSchedule, "backups", "", ActionSchedule, false},
		"there is one, but of another name":   {v1alpha1.VerbBackup, "backup", "", ActionBackup, true},
		"there is none, and no step needs it": {v1alpha1.VerbRestart, "", "", ActionRestart, false},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := backingUp(t)
			b.op.Spec.Repository = "pvc:backups"
			if c.claim != "" {
				b.claim(c.claim)
			}
			namespace := &corev1.Namespace{}
			namespace.Name = "shop"
			b.must(b.server.api.Create(t.Context(), namespace))
			l := b.live()
			l.ReadOnly = true
			if c.mounts != "" {
				l.Mounted = map[string]string{c.mounts: t.TempDir()}
			}
			s, before := b.observe(l), len(b.server.writes)
			b.op.Spec.Verb, s.Cluster.Spec.Backup.Repository = c.verb, "pvc:backups"
			if c.verb == v1alpha1.VerbRestore {
				b.op.Spec.Source = &v1alpha1.BackupSource{Repository: "pvc:backups", Backup: "other"}
			}
			err := l.Rehearse(t.Context(), s, Step{Action: c.action, Members: []string{"db-1"}})
			if pods := b.server.writes[before:]; len(pods) > 0 {
				t.Errorf("a look made %v", pods)
			}
			if !c.refused {
				b.must(err)
				return
			}
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Refused || e.Check != "claim" || !strings.Contains(e.Message, "no persistentvolumeclaim backups in namespace shop") {
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
			l := b.live()
			s := b.observe(l)
			b.op.Spec.Repository, s.View.Members[0].DataBytes = c.url, c.bytes
			err := l.Rehearse(t.Context(), s, backupStep())
			if c.check == "" {
				b.must(err)
				return
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Kind != Refused || e.Check != c.check || e.Hint == "" || (c.cause != nil && !errors.Is(err, c.cause)) {
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
			b.op.Spec.Repository = "pvc:backups"
			b.claim("backups")
			root := filepath.Join(t.TempDir(), "root")
			b.server.created = func(p *corev1.Pod) {
				b.becomes(p.Name, started(p, runs()))
				b.serve(p, root)
				if !writable {
					// The server makes the directory before it serves, and must have done so.
					for _, err := os.Stat(root); err != nil; _, err = os.Stat(root) {
						time.Sleep(time.Millisecond)
					}
					b.must(os.RemoveAll(root))
					b.must(os.WriteFile(root, nil, 0o600))
				}
			}
			l := b.live()
			err := l.Rehearse(t.Context(), b.observe(l), backupStep())
			if (err == nil) != writable || !writable && KindOf(err) != Refused {
				t.Errorf("got %v", err)
			}
			var pods corev1.PodList
			b.must(b.server.api.List(t.Context(), &pods))
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
	_, err := b.perform(backupStep())
	b.must(err)
	l := b.live()
	s := b.observe(l)
	s.Operation = operation(v1alpha1.VerbRestore)
	for id, there := range map[string]bool{backupID: true, "db-20300102T030405Z-ffff": false} {
		s.Operation.Spec.Source = &v1alpha1.BackupSource{Repository: b.op.Spec.Repository, Backup: id}
		err := l.Rehearse(t.Context(), s, Step{Action: ActionLoad})
		if (err == nil) != there || !there && (KindOf(err) != Refused || !errors.Is(err, repository.ErrNotFound)) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestRehearseFindsTheStorageClass: a class that does not exist is refused where a volume would be made of it.
func TestRehearseFindsTheStorageClass(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}, "", errors.New("no such right"))
	for name, c := range map[string]struct {
		class   *string
		step    Step
		change  func(*bench)
		refused string
	}{
		"unknown":               {class: new("fats"), step: Step{Action: ActionStart, Members: []string{"db-9"}}, refused: "name one that exists: fast, slow"},
		"unknown, of a restore": {class: new("fats"), step: Step{Action: ActionLoad, Members: []string{"db-9"}}, refused: "name one that exists: fast, slow"},
		"known":                 {class: new("fast"), step: Step{Action: ActionStart, Members: []string{"db-9"}}},
		"the default":           {step: Step{Action: ActionStart, Members: []string{"db-9"}}},
		"none on purpose":       {class: new(""), step: Step{Action: ActionStart, Members: []string{"db-9"}}},
		"the volume is there":   {class: new("fats"), step: Step{Action: ActionStart, Members: []string{"db-1"}}},
		"a volume made by hand has it": {class: new("manual"), step: Step{Action: ActionStart, Members: []string{"db-9"}}, change: func(b *bench) {
			v := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{StorageClassName: "manual"}}
			v.Name = "disk-1"
			b.must(b.server.api.Create(b.t.Context(), v))
		}},
		"classes can't be read": {class: new("fats"), step: Step{Action: ActionStart, Members: []string{"db-9"}}, change: func(b *bench) {
			b.server.api = interceptor.NewClient(b.server.raw, interceptor.Funcs{
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
				b.must(b.server.api.Create(t.Context(), class))
			}
			if c.change != nil {
				c.change(b)
			}
			l := b.live()
			s := b.observe(l)
			s.Cluster.Spec.Storage.ClassName = c.class
			err := l.Rehearse(t.Context(), s, c.step)
			if c.refused == "" {
				if e, ok := errors.AsType[*Error](err); ok && e.Check == "storage-class" {
					t.Error(err)
				}
				return
			}
			if e, ok := errors.AsType[*Error](err); !ok || e.Check != "storage-class" || e.Hint != c.refused || !strings.Contains(e.Message, "no storage class fats") {
				t.Errorf("%v", err)
			}
		})
	}
}
