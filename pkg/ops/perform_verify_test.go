package ops

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func verifyStep() Step { return Step{Action: ActionVerify} }

// verifying is a cluster whose backup is to be verified.
func verifying(t *testing.T, change func(*repository.Manifest)) (*bench, *repository.Directory) {
	t.Helper()
	b := plain(t)
	d := b.stored(change)
	b.op = operation(v1alpha1.VerbBackup)
	b.op.Spec.Repository, b.op.Spec.Backup = d.URL(), backupID
	b.database.model.fingerprint = engine.Fingerprint{Revision: 1, Keys: 15, Hash: "hash"}
	return b, d
}

// restored brings the throw-away member to where it serves the backup.
func (b *bench) restored() *corev1.Pod {
	b.t.Helper()
	b.waits(verifyStep(), "is starting")
	p := b.only()
	loader := p.Spec.InitContainers[1]
	if loader.Name != "verify" || !slices.Contains(p.Spec.Containers[0].Args, "--loopback") || len(p.Labels["dbop.dev/member"]) > 0 {
		b.t.Errorf("a throw-away member that others may reach: %+v", p)
	}
	ends := b.load(p.Name, loader.Command, b.t.TempDir())
	b.waits(verifyStep(), "the restored member is starting")
	if err := <-ends; err != nil {
		b.t.Fatalf("the agent: %v", err)
	}
	b.waits(verifyStep(), "is starting")
	b.becomes(p.Name, started(p, runs()))
	return p
}

func TestVerifyStampsWhatWasRestoredAndCompared(t *testing.T) {
	b, repo := verifying(t, nil)
	p := b.restored()
	if b.cluster().Status.LastVerifiedBackup != nil {
		t.Fatal("nothing was compared yet")
	}
	r, err := b.perform(verifyStep())
	b.must(err)
	if r.Facts[v1alpha1.FactVerified] != backupID || b.helper(p.Name) != nil {
		t.Errorf("facts %v, the helper is there: %v", r.Facts, b.helper(p.Name) != nil)
	}
	m, err := repo.Get(t.Context(), backupID)
	b.must(err)
	if v := m.Verified; v == nil || v.Version != "1.1.0" || v.Tool != "v1" || v.Time.IsZero() {
		t.Errorf("stamp %+v", v)
	}
	if last := b.cluster().Status.LastVerifiedBackup; last == nil || last.ID != backupID || last.Repository != repo.URL() {
		t.Errorf("noted %+v", last)
	}
	s := b.database.last()
	if !s.closed || s.access.TLS != nil || v1alpha1.PodName(s.access.Cluster.Name) != p.Name {
		t.Errorf("compared over %+v", s)
	}
}

func TestVerifyDoesNotStampWhatDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*bench)
		kind    Kind
		text    string
	}{
		"a key less":      {func(b *bench) { b.database.model.fingerprint.Keys = 14 }, NeedsHuman, "restores to 14 keys (hash), but 15 (hash) were backed up"},
		"other values":    {func(b *bench) { b.database.model.fingerprint.Hash = "other" }, NeedsHuman, "restores to 15 keys (other)"},
		"not serving yet": {func(b *bench) { b.database.model.silent = true }, NotYet, "does not serve yet"},
		"no answer":       {func(b *bench) { b.database.model.err = errStub }, Failed, "read the restored data"},
		"it stopped": {func(b *bench) {
			p := b.only()
			b.becomes(p.Name, ended(p, 0, ""))
		}, NotYet, "stopped and is made again"},
	} {
		t.Run(name, func(t *testing.T) {
			b, repo := verifying(t, nil)
			p := b.restored()
			c.prepare(b)
			_, err := b.perform(verifyStep())
			if b.helper(p.Name) != nil && c.kind != NotYet {
				t.Error("it failed, and the helper pod stays")
			}
			if err == nil || KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v (%s), want %s %q", err, KindOf(err), c.kind, c.text)
			}
			m, err := repo.Get(t.Context(), backupID)
			b.must(err)
			if m.Verified != nil || b.cluster().Status.LastVerifiedBackup != nil {
				t.Error("it was stamped")
			}
		})
	}
}

func TestVerifyRefusesAnotherEngineBeforeAnythingIsMade(t *testing.T) {
	b, _ := verifying(t, func(m *repository.Manifest) { m.Engine = "other" })
	_, err := b.perform(verifyStep())
	if e, ok := errors.AsType[*Error](err); !ok || e.Check != "wrong-engine" || len(b.server.writes) > 0 {
		t.Errorf("error %v, writes %v", err, b.server.writes)
	}
	b.op.Spec.Backup = "db-20300102T030405Z-ffff"
	if _, err := b.perform(verifyStep()); !errors.Is(err, repository.ErrNotFound) {
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
			cluster := b.cluster()
			cluster.Spec.Image, cluster.Spec.Registry, cluster.Spec.HelperImage = "registry.local/own:1", "mirror.local", ""
			b.must(b.store().UpdateCluster(t.Context(), cluster))
			b.waits(verifyStep(), "is starting")
			p := b.only()
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
			b.restored()
			b.server.writes, b.server.crashAt, b.server.before = nil, n, before
			if _, err := b.perform(verifyStep()); !errors.Is(err, errCrash) {
				t.Fatalf("the process lived on: %v", err)
			}
			b.server.crashAt, b.server.crashed = 0, false
			if n == 2 || !before {
				b.tunnels.at = map[string]string{}
				b.restored()
			}
			r, err := b.perform(verifyStep())
			b.must(err)
			if r.Facts[v1alpha1.FactVerified] != backupID || b.cluster().Status.LastVerifiedBackup == nil {
				t.Errorf("facts %v", r.Facts)
			}
		}
	}
}

// TestThrowAwayMembersAreToldApart: two clusters may verify one backup at once.
func TestThrowAwayMembersAreToldApart(t *testing.T) {
	b, repo := verifying(t, nil)
	m, err := repo.Get(t.Context(), backupID)
	b.must(err)
	one, other := b.cluster(), b.cluster().DeepCopy()
	other.Name = "other"
	names := map[string]bool{}
	for _, like := range []*v1alpha1.DatabaseCluster{one, other, nil, one} {
		names[b.live().throwAway(like, m).Name] = true
	}
	if len(names) != 3 {
		t.Errorf("three who verify have the members %v", names)
	}
}

// TestEndVerification deletes the helper pod of a verification that nobody continues.
func TestEndVerification(t *testing.T) {
	b, _ := verifying(t, nil)
	p := b.restored()
	l := b.live()
	b.must(l.EndVerification(t.Context(), b.cluster(), backupID))
	if b.helper(p.Name) != nil {
		t.Error("the helper pod stays")
	}
	b.must(l.EndVerification(t.Context(), b.cluster(), backupID))
}
