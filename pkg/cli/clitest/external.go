package clitest

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// FakeExternal is a database that something else made.
type FakeExternal struct {
	Config external.Config
	Lost   bool
}

func (*FakeExternal) Title() string { return "hand" }

func (*FakeExternal) Close() error { return nil }

func (s *FakeExternal) Inspect(context.Context) external.Inspection {
	m := external.InspectedMember{Pod: "hand-0", Node: "node-1", Voter: true,
		Progress: []engine.Reading{{Name: "revision", Value: "42"}, {Name: "term", Value: "3"},
			{Name: "index", Value: "99"}}}
	m.Member = engine.Member{Name: "member-0", Reachable: true, ID: "a1", ClusterID: "c1", Role: engine.RoleLeader,
		Version: "3.5.4", DataBytes: 3 << 20, UsedBytes: 1 << 20, Serving: true}
	return external.Inspection{Engine: "fakedb", Namespace: "shop", Name: "hand", Found: "statefulset/hand",
		Guesses: []string{"clients are served in plain text: port 2379 of pod hand-0 answered no handshake"},
		Auth:    engine.AuthOff, Quorum: !s.Lost, ClusterIDs: []string{"c1"}, Members: []external.InspectedMember{m},
		Findings: []ops.Finding{{Severity: ops.OK, Subject: "members", What: "all 1 are healthy"},
			{Severity: ops.Fail, Subject: "version", What: "it is known to be bad",
				Remedy: []string{"go to the newest patch"}}}}
}

func (s *FakeExternal) Backup(ctx context.Context, r repository.Repository, id string,
	_ func(int64, int64)) (repository.Manifest, error) {
	w, err := r.Writer(ctx, id, "outside/"+id)
	if err != nil {
		return repository.Manifest{}, err
	}
	if _, err := w.Write([]byte("some data")); err != nil {
		return repository.Manifest{}, err
	}
	return w.Commit(ctx,
		repository.Manifest{Format: 1, ID: id, Engine: "fakedb", Cluster: "hand", Namespace: "shop", Version: "3.5.4",
			ClusterID: "c1", Member: "member-0", Operation: "outside/" + id, Tool: "v1.2.3", StartedAt: Noon,
			FinishedAt: Noon},
		func(string) (engine.SnapshotFacts, error) {
			return engine.SnapshotFacts{Fingerprint: engine.Fingerprint{Proof: "7 keys",
					Readings: []engine.Reading{{Name: "revision", Value: "42"}, {Name: "keys", Value: "7"}}},
					Members: []string{"member-0"}},
				nil
		})
}
