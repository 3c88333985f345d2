package executor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

const backupID = "db-20300102T030405Z-0a1b"

// backingUp is a cluster of one with a backup under way into a directory.
func backingUp(t *testing.T) (*opstest.Bench, *repository.Directory) {
	t.Helper()
	b := plain(t)
	at := t.TempDir()
	b.Op = opstest.Operation(v1alpha1.VerbBackup)
	b.Op.Spec.Repository, b.Op.Spec.Backup = "dir:"+at, backupID
	b.Database.Model.Content = "keys and values"
	d, err := repository.NewDirectory(at)
	b.Must(err)
	return b, d
}

func backupStep() ops.Step { return ops.Step{Action: ops.ActionBackup, Members: []string{"db-1"}} }

// left lists what a directory holds.
func left(t *testing.T, b *opstest.Bench) []string {
	t.Helper()
	entries, err := os.ReadDir(strings.TrimPrefix(b.Op.Spec.Repository, "dir:"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestBackupExplainsItself(t *testing.T) {
	b, repo := backingUp(t)
	l := liveOf(b)
	var sent, total int64
	r, err := l.Perform(t.Context(), observation(b, l), backupStep(), func(n, of int64) { sent, total = n, of })
	b.Must(err)
	if r.Facts[v1alpha1.FactBackup] != backupID || r.Facts[v1alpha1.FactBytes] != "15" ||
		r.Facts[v1alpha1.FactContents] != "revision 7, keys 15" || sent != 15 || total != 100 {
		t.Errorf("facts %v, reported %d of %d", r.Facts, sent, total)
	}
	m, err := repo.Get(t.Context(), backupID)
	b.Must(err)
	want := repository.Manifest{Format: 1, ID: backupID, Engine: "stub", Cluster: "db", Namespace: "shop",
		Version: "1.1.0", ClusterID: "id", Incarnation: "t", Member: "db-1",
		// The snapshot lists no members, so those are kept that held data.
		Facts: engine.SnapshotFacts{Fingerprint: opstest.Fingerprint(15, "hash"), Members: []string{"db-1"}},
		File:  backupID + ".snapshot", Bytes: 15,
		Operation: "db.op", Tool: "v1"}
	if diff := cmp.Diff(want, m, cmpopts.IgnoreFields(repository.Manifest{}, "SHA256", "StartedAt",
		"FinishedAt")); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if len(m.SHA256) != 64 || m.StartedAt.IsZero() || m.FinishedAt.Before(m.StartedAt) {
		t.Errorf("manifest %+v", m)
	}
	last := b.Cluster().Status.LastBackup
	if last == nil || last.ID != backupID || last.Repository != b.Op.Spec.Repository || last.Time.IsZero() {
		t.Errorf("noted %+v", last)
	}
}

// TestBackupIsNotTakenTwice: the process died after the manifest was written,
// and before or after the cluster was told.
func TestBackupIsNotTakenTwice(t *testing.T) {
	for name, before := range map[string]bool{"before the note": true, "after the note": false} {
		t.Run(name, func(t *testing.T) {
			b, repo := backingUp(t)
			b.Server.CrashAt, b.Server.Before = 1, before
			if _, err := perform(b, backupStep()); !errors.Is(err, opstest.ErrCrash) ||
				!strings.Contains(err.Error(), "note the backup") {
				t.Fatalf("the process lived on: %v", err)
			}
			b.Server.CrashAt, b.Server.Crashed = 0, false
			first, err := repo.Get(t.Context(), backupID)
			b.Must(err)
			r, err := perform(b, backupStep())
			b.Must(err)
			if r.Facts[v1alpha1.FactBackup] != backupID || r.Facts[v1alpha1.FactBytes] != "15" ||
				r.Facts[v1alpha1.FactContents] != "revision 7, keys 15" || b.Cluster().Status.LastBackup == nil {
				t.Errorf("facts %v, noted %+v", r.Facts, b.Cluster().Status.LastBackup)
			}
			again, err := repo.Get(t.Context(), backupID)
			b.Must(err)
			if diff := cmp.Diff(first, again); diff != "" {
				t.Errorf("it was written again:\n%s", diff)
			}
			if calls := b.Database.Last().Calls; len(calls) > 0 {
				t.Errorf("it was streamed again: %v", calls)
			}
		})
	}
}

func TestBackupThatFailsIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*opstest.Bench)
		want    error
		text    string
	}{
		"the stream breaks": {func(b *opstest.Bench) { b.Database.Model.Err = opstest.ErrStub }, opstest.ErrStub,
			"stream db-1"},
		"other data": {func(b *opstest.Bench) { b.Database.Model.Content = "junk" }, engine.ErrNotSnapshot,
			"complete backup " + backupID},
		"no session": {func(b *opstest.Bench) { b.Database.Refuses = opstest.ErrStub }, opstest.ErrStub,
			"connect to db"},
		"the backup of another": {func(b *opstest.Bench) {
			other := b.Op.DeepCopy()
			_, err := perform(b, backupStep())
			b.Must(err)
			b.Op = other
			b.Op.Name = "db.other"
		}, repository.ErrExists, backupID},
		"no repository": {func(b *opstest.Bench) { b.Op.Spec.Repository = "ftp://x" }, repository.ErrLocation,
			"is no repository"},
		"a directory in the way": {func(b *opstest.Bench) {
			file := filepath.Join(b.T.TempDir(), "file")
			b.Must(os.WriteFile(file, nil, 0o600))
			b.Op.Spec.Repository = "dir:" + file
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, repo := backingUp(t)
			was := ""
			c.prepare(b)
			if m, err := repo.Get(t.Context(), backupID); err == nil {
				was = m.Operation
			}
			_, err := perform(b, backupStep())
			if err == nil || !strings.Contains(err.Error(), c.text) || (c.want != nil && !errors.Is(err, c.want)) {
				t.Fatalf("error %v, want %q", err, c.text)
			}
			if m, err := repo.Get(t.Context(), backupID); (err == nil) != (was != "") || m.Operation != was {
				t.Errorf("a backup is visible: %+v, %v", m, err)
			}
			if was == "" && b.Cluster().Status.LastBackup != nil {
				t.Error("it was noted")
			}
		})
	}
}

// TestBackupLeavesNoLeftovers: what broke off is dropped, and the next try succeeds.
func TestBackupLeavesNoLeftovers(t *testing.T) {
	b, _ := backingUp(t)
	b.Database.Model.Err = opstest.ErrStub
	if _, err := perform(b, backupStep()); err == nil {
		t.Fatal("it succeeded")
	}
	if l := left(t, b); len(l) > 0 {
		t.Errorf("remains: %v", l)
	}
	b.Database.Model.Err = nil
	_, err := perform(b, backupStep())
	b.Must(err)
	if diff := cmp.Diff([]string{backupID + ".json", backupID + ".snapshot"}, left(t, b)); diff != "" {
		t.Errorf("the repository (-want +got):\n%s", diff)
	}
}

// TestBackupEndsAtTwiceTheVolume: a member that streams without an end fills no repository.
func TestBackupEndsAtTwiceTheVolume(t *testing.T) {
	for capacity, fits := range map[string]bool{"0": true, "7": false, "8": true} { // 15 bytes are streamed
		b, _ := backingUp(t)
		l := liveOf(b)
		s := observation(b, l)
		s.Kube.Members[0].Volume.Capacity, s.Cluster.Spec.Storage.Size = resource.MustParse(capacity), resource.Quantity{}
		_, err := l.Perform(t.Context(), s, backupStep(), func(int64, int64) {})
		if failed, ok := errors.AsType[*ops.Error](err); ok == fits || ok &&
			(failed.Check != "snapshot-size" || len(left(t, b)) > 0) {
			t.Errorf("a volume of %s: %v", capacity, err)
		}
	}
}

// TestUntold: a run of a schedule goes on where a member can't tell what changed, and nothing else does.
func TestUntold(t *testing.T) {
	t.Parallel()
	refused := fmt.Errorf("stream db-1: %w", &engine.Refusal{Check: "backup", Reason: "not all changes were noted"})
	for name, c := range map[string]struct {
		parent string
		every  v1alpha1.Interval
		err    error
		again  bool
	}{
		"of a schedule":   {"full", v1alpha1.Weekly, refused, true},
		"of a person":     {"full", "", refused, false},
		"of all data":     {"", v1alpha1.Weekly, refused, false},
		"of another kind": {"full", v1alpha1.Weekly, opstest.ErrStub, false},
	} {
		op := opstest.Operation(v1alpha1.VerbBackup)
		op.Spec.FullEvery = c.every
		err := untold(task{State: ops.State{Operation: op}, Step: ops.Step{Parent: c.parent, Members: []string{"db-1"}}},
			c.err)
		if errors.Is(err, engine.ErrNotReady) != c.again || c.again && !strings.Contains(err.Error(), "not all changes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
