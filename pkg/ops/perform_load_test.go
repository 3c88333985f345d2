package ops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// stored puts a backup into a directory.
func (b *bench) stored(change func(*repository.Manifest)) *repository.Directory {
	b.t.Helper()
	d, err := repository.NewDirectory(b.t.TempDir())
	b.must(err)
	w, err := d.Writer(b.t.Context(), backupID, "db.old")
	b.must(err)
	_, err = w.Write([]byte("keys and values"))
	b.must(err)
	m := repository.Manifest{Engine: "stub", Cluster: "db", Version: "1.1.0"}
	if change != nil {
		change(&m)
	}
	_, err = w.Commit(b.t.Context(), m, b.database.opened)
	b.must(err)
	return d
}

// restoring is a cluster that begins from a backup.
func restoring(t *testing.T, change func(*repository.Manifest)) *bench {
	t.Helper()
	b := newBench(t)
	d := b.stored(change)
	c := b.founded(1, "")
	c.Spec.TLS.Disabled = true
	c.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: d.URL(), Backup: backupID}
	b.must(b.store().UpdateCluster(t.Context(), c))
	return b
}

func loadStep() Step { return Step{Action: ActionLoad, Members: []string{"db-1"}} }

// waits performs a step that has to be asked again.
func (b *bench) waits(step Step, why string) {
	b.t.Helper()
	if _, err := b.perform(step); !errors.Is(err, engine.ErrNotReady) || !strings.Contains(err.Error(), why) {
		b.t.Fatalf("error %v, want to wait because %q", err, why)
	}
}

func TestLoadFillsTheFoundersVolume(t *testing.T) {
	b := restoring(t, nil)
	b.waits(loadStep(), "helper pod db-1-load is starting")
	p := b.helper("db-1-load")
	if p == nil || !b.exists(&corev1.PersistentVolumeClaim{}, "db-1") {
		t.Fatal("no loader, or no volume")
	}
	if c := p.Spec.Volumes[0].PersistentVolumeClaim; c == nil || c.ClaimName != "db-1" || p.Spec.Containers[0].Image != "example.com/stub:1.1.0" || p.Spec.InitContainers[0].Image != "example.com/tool:v1" {
		t.Errorf("the loader is %+v", p.Spec)
	}
	b.waits(loadStep(), "helper pod is starting")
	if b.cluster().Status.Formation.Loaded {
		t.Fatal("nothing was loaded yet")
	}
	b.becomes(p.Name, started(p, runs()))
	volume := t.TempDir()
	agentEnds := b.load(p.Name, p.Spec.Containers[0].Command, volume)
	l := b.live()
	var sent int64
	if _, err := l.Perform(t.Context(), b.observe(l), loadStep(), func(n, _ int64) { sent = n }); err != nil {
		t.Fatal(err)
	}
	if err := <-agentEnds; err != nil {
		t.Errorf("the agent: %v", err)
	}
	if content, err := os.ReadFile(filepath.Join(volume, "data", "db")); string(content) != "keys and values" || sent != 15 {
		t.Errorf("loaded %q, %v; reported %d", content, err, sent)
	}
	if b.helper("db-1-load") != nil {
		t.Error("the loader stays")
	}
	f := b.cluster().Status.Formation
	if diff := cmp.Diff(&v1alpha1.Formation{Token: "t", Members: []string{"db-1"}, Loaded: true, ExpectedKeys: 15, ExpectedHash: "hash", ExpectedMark: "mark"}, f); diff != "" {
		t.Errorf("formation (-want +got):\n%s", diff)
	}
}

// TestLoadSurvivesACrashAtEveryWrite: a second loader finds the volume full
// and ends well, without a second stream.
func TestLoadSurvivesACrashAtEveryWrite(t *testing.T) {
	for n := 1; n <= 4; n++ {
		for _, before := range []bool{true, false} {
			b := restoring(t, nil)
			volume := t.TempDir()
			b.server.crashAt, b.server.before = n, before
			crashes, ended := 0, false
			for range 10 {
				b.loader("db-1-load", volume)
				_, err := b.perform(loadStep())
				if errors.Is(err, errCrash) {
					crashes++
					b.server.crashAt, b.server.crashed = 0, false
				} else if ended = err == nil; ended {
					break
				} else if !errors.Is(err, engine.ErrNotReady) {
					t.Fatalf("write %d, before %v: %v", n, before, err)
				}
			}
			f := b.cluster().Status.Formation
			if crashes != 1 || !ended || !f.Loaded || f.ExpectedHash != "hash" || b.helper("db-1-load") != nil {
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
			cluster := b.cluster()
			cluster.Spec.RestoreFrom.Backup = c.id
			b.must(b.store().UpdateCluster(t.Context(), cluster))
			_, err := b.perform(loadStep())
			e, typed := errors.AsType[*Error](err)
			if c.check == "" && !errors.Is(err, repository.ErrNotFound) || c.check != "" && (!typed || e.Kind != Refused || e.Check != c.check) {
				t.Errorf("error %v, want check %q", err, c.check)
			}
			if len(b.server.writes) > 0 {
				t.Errorf("writes %v", b.server.writes)
			}
		})
	}
}

func TestHelpersThatDoNotRun(t *testing.T) {
	b := restoring(t, nil)
	b.waits(loadStep(), "is starting")
	p := b.helper("db-1-load")
	b.becomes(p.Name, unpullable(p))
	b.waits(loadStep(), "is starting")
	b.ageing(p.Name)
	_, err := b.perform(loadStep())
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != NeedsHuman || e.Check != "ImagePull" || !strings.Contains(e.Message, "no such image") || !strings.Contains(e.Hint, "--helper-image") {
		t.Errorf("a stuck helper: %v", err)
	}
	b.becomes(p.Name, ended(p, 1, "the volume is full"))
	b.waits(loadStep(), "failed (the volume is full) and is made again")
	if b.helper(p.Name) != nil {
		t.Fatal("the failed helper stays")
	}
	b.waits(loadStep(), "is starting")
	if again := b.helper(p.Name); again == nil || again.UID == p.UID {
		t.Error("no helper was made again")
	}
}
