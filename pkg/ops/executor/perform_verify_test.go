package executor

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func verifyStep() ops.Step { return ops.Step{Action: ops.ActionVerify} }

// verifying is a cluster whose backup is to be verified.
func verifying(t *testing.T, change func(*repository.Manifest)) (*opstest.Bench, *repository.Directory) {
	t.Helper()
	b := plain(t)
	d := stored(b, change)
	b.Op = opstest.Operation(v1alpha1.VerbBackup)
	b.Op.Spec.Repository, b.Op.Spec.Backup = d.URL(), backupID
	b.Database.Model.Print = opstest.Fingerprint(15, "hash")
	return b, d
}

// restored brings the throw-away member to where it serves the backup.
func restored(b *opstest.Bench) *corev1.Pod {
	b.T.Helper()
	waits(b, verifyStep(), "is starting")
	p := b.Only()
	loader := p.Spec.InitContainers[1]
	if loader.Name != "verify" || !slices.Contains(p.Spec.Containers[0].Args, "--loopback") ||
		len(p.Labels["dbop.dev/member"]) > 0 {
		b.T.Errorf("a throw-away member that others may reach: %+v", p)
	}
	ends := b.Load(p.Name, loader.Command, b.T.TempDir())
	waits(b, verifyStep(), "the restored member is starting")
	if err := <-ends; err != nil {
		b.T.Fatalf("the helper: %v", err)
	}
	waits(b, verifyStep(), "is starting")
	b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
	return p
}

func TestVerifyStampsWhatWasRestoredAndCompared(t *testing.T) {
	b, repo := verifying(t, nil)
	p := restored(b)
	if b.Cluster().Status.LastVerifiedBackup != nil {
		t.Fatal("nothing was compared yet")
	}
	b.Database.Model.Checked.By = "pages by a program"
	r, err := perform(b, verifyStep())
	b.Must(err)
	if r.Facts[v1alpha1.FactVerified] != backupID || b.Helper(p.Name) != nil {
		t.Errorf("facts %v, the helper is there: %v", r.Facts, b.Helper(p.Name) != nil)
	}
	m, err := repo.Get(t.Context(), backupID)
	b.Must(err)
	if v := m.Verified; v == nil || v.Version != "1.1.0" || v.Tool != "v1" || v.Time.IsZero() ||
		v.Checked != "pages by a program" {
		t.Errorf("stamp %+v", v)
	}
	if last := b.Cluster().Status.LastVerifiedBackup; last == nil || last.ID != backupID ||
		last.Repository != repo.URL() {
		t.Errorf("noted %+v", last)
	}
	s := b.Database.Last()
	if !s.Closed || s.Access.TLS != nil || v1alpha1.PodName(s.Access.Cluster.Name) != p.Name {
		t.Errorf("compared over %+v", s)
	}
}

func TestVerifyDoesNotStampWhatDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*opstest.Bench)
		kind    ops.Kind
		text    string
	}{
		"a key less": {func(b *opstest.Bench) { b.Database.Model.Print = opstest.Fingerprint(14, "hash") },
			ops.NeedsHuman, "restores to 14 keys, hash, but 15 keys, hash was backed up"},
		"other values": {func(b *opstest.Bench) { b.Database.Model.Print = opstest.Fingerprint(15, "other") },
			ops.NeedsHuman, "restores to 15 keys, other"},
		"no proof": {func(b *opstest.Bench) { b.Database.Model.Print.Proof = "" }, ops.Refused,
			"nothing proves that it holds what was backed up"},
		"not serving yet": {func(b *opstest.Bench) { b.Database.Model.Silent = true }, ops.NotYet, "does not serve yet"},
		"no answer": {func(b *opstest.Bench) { b.Database.Model.Err = opstest.ErrStub }, ops.Failed,
			"read the restored data"},
		"damaged before": {func(b *opstest.Bench) {
			b.Database.Model.Checked = engine.DataCheck{By: "pages by a program", Problems: []string{"page 1", "page 2"}}
		}, ops.NeedsHuman, "was damaged already when it was taken (pages by a program): page 1; page 2"},
		"it stopped": {func(b *opstest.Bench) {
			p := b.Only()
			b.Becomes(p.Name, opstest.Ended(p, 0, ""))
		}, ops.NotYet, "stopped and is made again"},
	} {
		t.Run(name, func(t *testing.T) {
			b, repo := verifying(t, nil)
			p := restored(b)
			c.prepare(b)
			_, err := perform(b, verifyStep())
			if b.Helper(p.Name) != nil && c.kind != ops.NotYet {
				t.Error("it failed, and the helper pod stays")
			}
			if err == nil || ops.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v (%s), want %s %q", err, ops.KindOf(err), c.kind, c.text)
			}
			m, err := repo.Get(t.Context(), backupID)
			b.Must(err)
			if m.Verified != nil || b.Cluster().Status.LastVerifiedBackup != nil {
				t.Error("it was stamped")
			}
			failed, noted := m.FailedProof, b.Cluster().Status.FailedProof
			if wanted := c.kind == ops.NeedsHuman; (failed != nil) != wanted || (noted != nil) != wanted {
				t.Errorf("recorded %+v, noted %+v", failed, noted)
			} else if wanted && (failed.Level != repository.LevelRestorable || !strings.Contains(failed.Reason, c.text) ||
				noted.ID != backupID || noted.Reason != failed.Reason) {
				t.Errorf("recorded %+v, noted %+v", failed, noted)
			}
		})
	}
}

func TestVerifyRefusesAnotherEngineBeforeAnythingIsMade(t *testing.T) {
	b, _ := verifying(t, func(m *repository.Manifest) { m.Engine = "other" })
	_, err := perform(b, verifyStep())
	if e, ok := errors.AsType[*ops.Error](err); !ok || e.Check != "wrong-engine" || len(b.Server.Writes) > 0 {
		t.Errorf("error %v, writes %v", err, b.Server.Writes)
	}
	b.Op.Spec.Backup = "db-20300102T030405Z-ffff"
	if _, err := perform(b, verifyStep()); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("no such backup: %v", err)
	}
}

// TestVerifyRunsTheVersionOfTheBackup: its own image counts only for its own version.
func TestVerifyRunsTheVersionOfTheBackup(t *testing.T) {
	for name, c := range map[string]struct {
		version, want string
	}{
		"the cluster's version": {"1.1.0", "registry.local/own:1"},
		"an older one":          {"1.0.0", "mirror.local/stub:1.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := verifying(t, func(m *repository.Manifest) { m.Version = c.version })
			cluster := b.Cluster()
			cluster.Spec.Image, cluster.Spec.Registry, cluster.Spec.HelperImage = "registry.local/own:1", "mirror.local", ""
			b.Must(b.Store().UpdateCluster(t.Context(), cluster))
			waits(b, verifyStep(), "is starting")
			p := b.Only()
			if got := p.Spec.Containers[0].Image; got != c.want {
				t.Errorf("image %s, want %s", got, c.want)
			}
			if got := p.Spec.InitContainers[0].Image; got != "mirror.local/tool:v1" {
				t.Errorf("helper image %s", got)
			}
		})
	}
}

// TestVerifyEndsAfterACrash: what was stamped before the crash is verified once more.
func TestVerifyEndsAfterACrash(t *testing.T) {
	for n := 1; n <= 2; n++ {
		for _, before := range []bool{true, false} {
			b, _ := verifying(t, nil)
			restored(b)
			b.Server.Writes, b.Server.CrashAt, b.Server.Before = nil, n, before
			if _, err := perform(b, verifyStep()); !errors.Is(err, opstest.ErrCrash) {
				t.Fatalf("the process lived on: %v", err)
			}
			b.Server.CrashAt, b.Server.Crashed = 0, false
			if n == 2 || !before {
				b.Tunnels.At = map[string]string{}
				restored(b)
			}
			r, err := perform(b, verifyStep())
			b.Must(err)
			if r.Facts[v1alpha1.FactVerified] != backupID || b.Cluster().Status.LastVerifiedBackup == nil {
				t.Errorf("facts %v", r.Facts)
			}
		}
	}
}

// TestThrowAwayMembersAreToldApart: two clusters may verify one backup at once.
func TestThrowAwayMembersAreToldApart(t *testing.T) {
	b, repo := verifying(t, nil)
	m, err := repo.Get(t.Context(), backupID)
	b.Must(err)
	one, other := b.Cluster(), b.Cluster().DeepCopy()
	other.Name = "other"
	names := map[string]bool{}
	for _, like := range []*v1alpha1.DatabaseCluster{one, other, nil, one} {
		names[liveOf(b).throwAway(like, m).Name] = true
	}
	if len(names) != 3 {
		t.Errorf("three who verify have the members %v", names)
	}
}

// TestEndVerification deletes the helper pod of a verification that nobody continues.
func TestEndVerification(t *testing.T) {
	b, _ := verifying(t, nil)
	p := restored(b)
	l := liveOf(b)
	b.Must(l.EndVerification(t.Context(), b.Cluster(), backupID))
	if b.Helper(p.Name) != nil {
		t.Error("the helper pod stays")
	}
	b.Must(l.EndVerification(t.Context(), b.Cluster(), backupID))
}
