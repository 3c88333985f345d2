package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// stranger is a database that something else made.
type stranger struct {
	config external.OutsiderConfig
	lost   bool
}

func (*stranger) Title() string { return "hand" }
func (*stranger) Close() error  { return nil }

func (s *stranger) Inspect(context.Context) external.Inspection {
	m := external.InspectedMember{Pod: "hand-0", Node: "node-1", Voter: true, Progress: []engine.Reading{{Name: "revision", Value: 42}, {Name: "term", Value: 3}, {Name: "index", Value: 99}}}
	m.Member = engine.Member{Name: "member-0", Reachable: true, ID: "a1", ClusterID: "c1", Role: engine.RoleLeader, Version: "3.5.4", DataBytes: 3 << 20, UsedBytes: 1 << 20, Serving: true}
	return external.Inspection{Engine: "fakedb", Namespace: "shop", Name: "hand", Found: "statefulset/hand", Guesses: []string{"clients are served in plain text: port 2379 of pod hand-0 answered no handshake"},
		Auth: engine.AuthOff, Quorum: !s.lost, ClusterIDs: []string{"c1"}, Members: []external.InspectedMember{m},
		Findings: []ops.Finding{{Severity: ops.OK, Subject: "members", What: "all 1 are healthy"}, {Severity: ops.Fail, Subject: "version", What: "it is known to be bad", Remedy: []string{"go to the newest patch"}}}}
}

func (s *stranger) Backup(ctx context.Context, r repository.Repository, id string, _ func(int64, int64)) (repository.Manifest, error) {
	w, err := r.Writer(ctx, id, "outside/"+id)
	if err != nil {
		return repository.Manifest{}, err
	}
	if _, err := w.Write([]byte("some data")); err != nil {
		return repository.Manifest{}, err
	}
	return w.Commit(ctx, repository.Manifest{Format: 1, ID: id, Engine: "fakedb", Cluster: "hand", Namespace: "shop", Version: "3.5.4", ClusterID: "c1", Member: "member-0", Operation: "outside/" + id, Tool: "v1.2.3", StartedAt: noon, FinishedAt: noon},
		func(string) (engine.SnapshotFacts, error) {
			return engine.SnapshotFacts{Fingerprint: engine.Fingerprint{Revision: 42, Keys: 7}, Members: []string{"member-0"}}, nil
		})
}

func TestInspect(t *testing.T) {
	b := newBench(t)
	b.golden("inspect", b.run("inspect", "hand"))
	b.golden("inspect_wide", b.run("inspect", "-l", "app=hand", "-o", "wide"))
	b.golden("inspect_json", b.run("inspect", "--endpoints", "hand-0:2379", "-o", "json"))
	if b.outsider.config.Endpoints[0] != "hand-0:2379" || b.outsider.config.Namespace != "shop" {
		t.Errorf("looked for %+v", b.outsider.config)
	}
	b.run("inspect", "hand", "--cert-secret", "c", "--ca-secret", "a", "--user-secret", "u")
	if c := b.outsider.config; c.Name != "hand" || c.CertSecret != "c" || c.CASecret != "a" || c.UserSecret != "u" {
		t.Errorf("speaks with %+v", c)
	}
	b.outsider.lost = true
	if r := b.run("inspect", "hand"); r.code != ExitDown {
		t.Errorf("without quorum: exit %d", r.code)
	}
	for _, args := range [][]string{{"inspect"}, {"inspect", "hand", "-l", "app=hand"}, {"inspect", "hand", "--engine", "nodb", "-o", "nothing"},
		{"backup", "my-db", "--from-statefulset", "hand"}, {"backup", "-l", "a=b", "--endpoints", "x:1"}} {
		if r := b.run(args...); r.code != ExitUsage {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.err)
		}
	}
	if len(b.writes) > 0 {
		t.Errorf("inspect wrote %v", b.writes)
	}
}

func TestBackupOutside(t *testing.T) {
	b := newBench(t)
	b.golden("backup_outside_dry", b.run("backup", "--from-statefulset", "hand", "--dry-run"))
	b.golden("backup_outside_plan", b.run("plan", "backup", "--from-statefulset", "hand"))
	if _, err := os.Stat(filepath.Join(b.dir, ".local")); err == nil {
		t.Error("a dry run made a repository")
	}
	b.golden("backup_outside", b.run("backup", "--from-statefulset", "hand", "--progress", "none"))
	r := b.run("backup", "list", "hand", "-o", "name")
	if r.code != ExitDone || strings.Count(r.out, "backup/hand-") != 1 {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if len(b.writes) > 0 {
		t.Errorf("it wrote to Kubernetes: %v", b.writes)
	}
	id := strings.TrimSpace(strings.TrimPrefix(r.out, "backup/"))
	// 3.5.4 is not in the catalog: its minor's newest takes its place.
	b.must("restore", "my-db", "--from", id, "--progress", "none")
	if r := b.run("list"); !strings.Contains(r.out, "3.5.9") {
		t.Errorf("restored as\n%s", r.out)
	}
	b.must("backup", "--from-statefulset", "hand", "--to", filepath.Join(b.dir, "other"), "--verify", "--progress", "none")
}
