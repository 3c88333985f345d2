package bucket

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// stream is the one file of a backup of this kind: docs/repository-format.md restores it by that name.
const stream = "snapshot.db"

// Facts of an archive's manifest that are not the engine's readings.
const (
	factSnapshot = "snapshot"
	factOrigin   = "origin"
	factParent   = "adds-to"
)

// toArchive is what of a manifest the archive does not know by itself.
func toArchive(m repository.Manifest) (archive.Manifest, error) {
	facts, err := json.Marshal(m.Facts)
	if err != nil {
		return archive.Manifest{}, fmt.Errorf("encode what backup %s holds: %w", m.ID, err)
	}
	out := archive.Manifest{
		ClusterID: m.ClusterID, Engine: m.Engine, Version: m.Version, Member: m.Member, Tool: m.Tool,
		Scheduled: m.Scheduled, StartedAt: m.StartedAt.UTC(), FinishedAt: m.FinishedAt.UTC(),
		Facts: map[string]string{factSnapshot: string(facts)},
	}
	if start := m.Facts.LogStart; start != nil {
		out.Incarnation = Incarnation(m.Incarnation)
		out.Log = &archive.LogStart{Timeline: start.Timeline, Segment: start.File}
	}
	if m.Origin != "" {
		out.Facts[factOrigin] = m.Origin
	}
	if m.Parent != "" {
		out.Facts[factParent] = m.Parent
	}
	// People know these; the first reading says how far the data reaches.
	for i, r := range m.Facts.Readings {
		out.Facts[r.Name] = r.Value
		if i == 0 {
			out.Position = r.Value
		}
	}
	return out, nil
}

// mostIncarnation is how long the token of an incarnation may be in the name of an object.
const mostIncarnation = 40

// Incarnation is a token as names of objects hold it: a long one is a hash.
func Incarnation(token string) string {
	if len(token) <= mostIncarnation {
		return token
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:16])
}

// Log is the archived log of a cluster whose incarnation has that token.
func (r *Repository) Log(namespace, cluster, token string) *archive.Log {
	return r.archive.Log(archive.Scope{Namespace: namespace, Cluster: cluster}, Incarnation(token))
}

// fromArchive is a backup as its manifest tells it.
func fromArchive(m *archive.Manifest) (repository.Manifest, error) {
	out := repository.Manifest{
		Format: m.Format, ID: m.ID, Engine: m.Engine, Cluster: m.Cluster, Namespace: m.Namespace, Version: m.Version,
		ClusterID: m.ClusterID, Member: m.Member, Origin: m.Facts[factOrigin], Operation: m.Operation, Tool: m.Tool,
		Scheduled: m.Scheduled, StartedAt: m.StartedAt, FinishedAt: m.FinishedAt, Stored: m.Stored(),
		Incarnation: m.Incarnation,
		Encrypted:   m.Encrypted, RetainUntil: m.RetainUntil,
	}
	if m.Parent != "" {
		out.Parent = cmp.Or(m.Facts[factParent], m.Parent)
	}
	for _, s := range m.Streams {
		if s.Name == stream {
			out.File, out.Bytes = s.Name, s.Bytes()
		}
	}
	if out.File == "" {
		return out, fmt.Errorf("%w: backup %s has no stream %s", repository.ErrFormat, m.ID, stream)
	}
	var facts engine.SnapshotFacts
	if err := json.Unmarshal([]byte(m.Facts[factSnapshot]), &facts); err != nil {
		return out, fmt.Errorf("%w: what backup %s holds can't be read: %w", repository.ErrDamaged, m.ID, err)
	}
	out.Facts = facts
	return out, nil
}

// fromEntry is a backup as its name in a listing tells it. Nobody vouches for names.
func fromEntry(e archive.Entry) repository.Manifest {
	m := repository.Manifest{
		Format: archive.Format, ID: e.ID, Engine: e.Engine, Cluster: e.Cluster, Namespace: e.Namespace, Version: e.Version,
		Scheduled: e.Scheduled, StartedAt: e.StartedAt, FinishedAt: e.FinishedAt, Stored: e.Bytes, Encrypted: e.Encrypted,
		Incarnation: e.Incarnation,
	}
	if e.Log != nil {
		m.Facts.LogStart = &engine.LogStart{Timeline: e.Log.Timeline, File: e.Log.Segment}
	}
	return proven(m, e.Proof, e.Failed)
}

// proven adds what is known of proofs: the best, and one that failed.
func proven(m repository.Manifest, p, failed *archive.Proof) repository.Manifest {
	if failed != nil {
		m.FailedProof = &repository.Proof{Level: failed.Level, Failed: true, Reason: failed.Reason, By: failed.By,
			Verification: repository.Verification{Time: failed.Time, Version: failed.Version, Tool: failed.Tool}}
	}
	if p == nil {
		return m
	}
	m.Proof, m.ProvenAt = string(p.Level), p.Time
	if p.Level == archive.LevelRestorable {
		m.Verified = &repository.Verification{Time: p.Time, Version: p.Version, Tool: p.Tool,
			Checked: p.Checked}
	}
	return m
}
