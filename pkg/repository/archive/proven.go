package archive

import (
	"context"
	"slices"
)

// restorations finds backups that were restored and compared. It reads each proof once at most, and of a backup that no
// name claims to be proven it reads nothing.
type restorations struct {
	archive *Archive
	// named are the proofs that names claim, signed tells of attempts whose proofs were read; both by attempt.
	named  map[string][]Proof
	signed map[string]bool
}

// newest is the attempt of the first entry that a trusted key signed a proof of; "" if there is none. What is badly
// signed hides nothing. An error says that the store could not be read, so that nobody knows.
func (r *restorations) newest(ctx context.Context, entries []Entry) (string, error) {
	for _, e := range entries {
		signed, known := r.signed[e.Attempt]
		if !known {
			claimed := slices.DeleteFunc(slices.Clone(r.named[e.Attempt]), func(p Proof) bool {
				return p.Level != LevelRestorable
			})
			p, err := r.archive.signedProof(ctx, e, claimed)
			if err != nil {
				return "", err
			}
			signed = p != nil
			r.signed[e.Attempt] = signed
		}
		if signed {
			return e.Attempt, nil
		}
	}
	return "", nil
}
