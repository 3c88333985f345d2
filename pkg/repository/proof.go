package repository

import (
	"encoding/json"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// Level says how much a verification proves; a higher one implies the lower ones.
type Level = archive.Level

// Levels, lowest first.
const (
	LevelPresent    = archive.LevelPresent
	LevelIntact     = archive.LevelIntact
	LevelRestorable = archive.LevelRestorable
)

// Proof is what one verification of a backup found.
type Proof struct {
	Level Level `json:"level"`
	Verification
	// By is who asked for it.
	By string `json:"by,omitempty"`
	// Failed says that the backup is not what the level means. Reason is why not, in a few words without secrets.
	Failed bool   `json:"failed,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// answers reports whether a proof that succeeded leaves nothing of an earlier one that failed.
func (p Proof) answers(failed *Proof) bool {
	return failed == nil || !p.Failed && p.Level.Includes(failed.Level)
}

// proven replaces the fields of a manifest that tell of proofs, and keeps all others, also those that this version does
// not know. One that failed leaves what was proven before.
func proven(m Manifest, content []byte, p Proof) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(content, &fields); err != nil {
		return nil, fmt.Errorf("%w: manifest of %s: %w", ErrDamaged, m.ID, err)
	}
	set := map[string]any{}
	switch {
	case p.Failed:
		p.Reason = archive.Brief(p.Reason)
		set["failedProof"] = p
	case p.Level == LevelRestorable:
		set["verified"], set["proof"], set["provenAt"] = p.Verification, p.Level, p.Time
	case p.Level.Includes(Level(m.Proof)):
		set["proof"], set["provenAt"] = p.Level, p.Time
	}
	if !p.Failed && p.answers(m.FailedProof) {
		delete(fields, "failedProof")
	}
	for name, v := range set {
		value, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encode a proof of %s: %w", m.ID, err)
		}
		fields[name] = value
	}
	out, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest of %s: %w", m.ID, err)
	}
	return append(out, '\n'), nil
}
