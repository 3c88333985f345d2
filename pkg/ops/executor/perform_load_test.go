package executor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// stored puts a backup into a directory.
func stored(b *opstest.Bench, change func(*repository.Manifest)) *repository.Directory {
	b.T.Helper()
	d, err := repository.NewDirectory(b.T.TempDir())
	b.Must(err)
	w, err := d.Writer(b.T.Context(), backupID, "db.old")
	b.Must(err)
	_, err = w.Write([]byte("keys and values"))
	b.Must(err)
	m := repository.Manifest{Engine: "stub", Cluster: "db", Version: "1.1.0"}
	if change != nil {
		change(&m)
	}
	_, err = w.Commit(b.T.Context(), m, b.Database.Opened)
	b.Must(err)
	return d
}

// restoring is a cluster that begins from a backup.
func restoring(t *testing.T, change func(*repository.Manifest)) *opstest.Bench {
	t.Helper()
	b := opstest.NewBench(t)
	d := stored(b, change)
	c := b.Founded(1, "")
	c.Spec.TLS.Disabled = true
	c.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: d.URL(), Backup: backupID}
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	return b
}

func loadStep() ops.Step { return ops.Step{Action: ops.ActionLoad, Members: []string{"db-1"}} }

// waits performs a step that has to be asked again.
func waits(b *opstest.Bench, step ops.Step, why string) {
	b.T.Helper()
	if _, err := perform(b, step); !errors.Is(err, engine.ErrNotReady) || !strings.Contains(err.Error(), why) {
		b.T.Fatalf("error %v, want to wait because %q", err, why)
	}
}

func TestLoadFillsTheInitialMembersVolume(t *testing.T) {
	b := restoring(t, nil)
	waits(b, loadStep(), "helper pod db-1-load is starting")
	p := b.Helper("db-1-load")
	if p == nil || !b.Exists(&corev1.PersistentVolumeClaim{}, "db-1") {
		t.Fatal("no loader, or no volume")
	}
	if c := p.Spec.Volumes[0].PersistentVolumeClaim; c == nil || c.ClaimName != "db-1" ||
		p.Spec.Containers[0].Image != "example.com/stub:1.1.0" || p.Spec.InitContainers[0].Image != "example.com/tool:v1" {
		t.Errorf("the loader is %+v", p.Spec)
	}
	waits(b, loadStep(), "helper pod db-1-load is starting")
	if b.Cluster().Status.Bootstrap.Loaded {
		t.Fatal("nothing was loaded yet")
	}
	b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
	volume := t.TempDir()
	agentEnds := b.Load(p.Name, p.Spec.Containers[0].Command, volume)
	l := liveOf(b)
	var sent int64
	if _, err := l.Perform(t.Context(), observation(b, l), loadStep(), func(n, _ int64) { sent = n }); err != nil {
		t.Fatal(err)
	}
	if err := <-agentEnds; err != nil {
		t.Errorf("the helper: %v", err)
	}
	if content, err := os.ReadFile(filepath.Join(volume, "data", "db")); string(content) != "keys and values" ||
		sent != 15 {
		t.Errorf("loaded %q, %v; reported %d", content, err, sent)
	}
	if b.Helper("db-1-load") != nil {
		t.Error("the loader stays")
	}
	f := b.Cluster().Status.Bootstrap
	if diff := cmp.Diff(&v1alpha1.Bootstrap{Token: "t", Members: []string{"db-1"}, Loaded: true,
		ExpectedProof: "15 keys, hash", ExpectedMark: "mark"}, f); diff != "" {
		t.Errorf("formation (-want +got):\n%s", diff)
	}
}

// TestLoadAwaitsItsLoader: a pod runs a moment before its program listens, and for that moment the cluster is not
// observed once more.
func TestLoadAwaitsItsLoader(t *testing.T) {
	b := restoring(t, nil)
	waits(b, loadStep(), "helper pod db-1-load is starting")
	p := b.Helper("db-1-load")
	b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
	volume, late := t.TempDir(), make(chan (<-chan error), 1)
	time.AfterFunc(100*time.Millisecond, func() { late <- b.Load(p.Name, p.Spec.Containers[0].Command, volume) })
	_, err := perform(b, loadStep())
	loaderEnds := <-late
	if err != nil {
		t.Fatal(err)
	}
	if err := <-loaderEnds; err != nil || !b.Cluster().Status.Bootstrap.Loaded {
		t.Errorf("the loader ended with %v, formation %+v", err, b.Cluster().Status.Bootstrap)
	}
}

// TestLoadSurvivesACrashAtEveryWrite: a second loader finds the volume full
// and ends well, without a second stream.
func TestLoadSurvivesACrashAtEveryWrite(t *testing.T) {
	for n := 1; n <= 4; n++ {
		for _, before := range []bool{true, false} {
			b := restoring(t, nil)
			volume := t.TempDir()
			b.Server.CrashAt, b.Server.Before = n, before
			crashes, ended := 0, false
			for range 10 {
				b.Loader("db-1-load", volume)
				_, err := perform(b, loadStep())
				if errors.Is(err, opstest.ErrCrash) {
					crashes++
					b.Server.CrashAt, b.Server.Crashed = 0, false
				} else if ended = err == nil; ended {
					break
				} else if !errors.Is(err, engine.ErrNotReady) {
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

func TestLoadRefusesBeforeAnythingIsMade(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*repository.Manifest)
		id     string
		check  string
	}{
		"another engine":  {func(m *repository.Manifest) { m.Engine = "other" }, backupID, "wrong-engine"},
		"a newer version": {func(m *repository.Manifest) { m.Version = "1.2.0" }, backupID, "older-version"},
		"no such backup":  {nil, "db-20300102T030405Z-ffff", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := restoring(t, c.change)
			cluster := b.Cluster()
			cluster.Spec.RestoreFrom.Backup = c.id
			b.Must(b.Store().UpdateCluster(t.Context(), cluster))
			_, err := perform(b, loadStep())
			e, typed := errors.AsType[*ops.Error](err)
			if c.check == "" && !errors.Is(err, repository.ErrNotFound) || c.check != "" &&
				(!typed || e.Kind != ops.Refused || e.Check != c.check) {
				t.Errorf("error %v, want check %q", err, c.check)
			}
			if len(b.Server.Writes) > 0 {
				t.Errorf("writes %v", b.Server.Writes)
			}
		})
	}
}

func TestHelpersThatDoNotRun(t *testing.T) {
	b := restoring(t, nil)
	waits(b, loadStep(), "is starting")
	p := b.Helper("db-1-load")
	b.Becomes(p.Name, opstest.Unpullable(p))
	waits(b, loadStep(), "is starting")
	b.Ageing(p.Name)
	_, err := perform(b, loadStep())
	if e, ok := errors.AsType[*ops.Error](err); !ok || e.Kind != ops.NeedsHuman || e.Check != "ImagePull" ||
		!strings.Contains(e.Message, "no such image") || !strings.Contains(e.Hint, "--helper-image") {
		t.Errorf("a stuck helper: %v", err)
	}
	b.Becomes(p.Name, opstest.Ended(p, 1, "the volume is full"))
	waits(b, loadStep(), "failed (the volume is full) and is made again")
	if b.Helper(p.Name) != nil {
		t.Fatal("the failed helper stays")
	}
	waits(b, loadStep(), "is starting")
	if again := b.Helper(p.Name); again == nil || again.UID == p.UID {
		t.Error("no helper was made again")
	}
}
