package archive

import (
	"context"
	"slices"
)

// restorations finds backups that were restored and compared. It reads each proof once at most, and of a backup that no
// name claims to be proven it reads nothing.
type restorations struct {
	archive *Archive
	// named are the proofs that names claim, signed tells of attempts whose proofs were read, and doubted of those that a
	// later proof failed for; all by attempt.
	named           map[string][]Proof
	signed, doubted map[string]bool
}

// newest is the attempt of the first entry that a trusted key signed a proof of, and before it those whose later proof
// failed: with one of them alone nobody could be sure to have any. What is badly signed hides nothing. An error says
// that the store could not be read, so that nobody knows.
func (r *restorations) newest(ctx context.Context, entries []Entry) (out []string, err error) {
	for _, e := range entries {
		signed, known := r.signed[e.Attempt]
		if !known {
			claimed := slices.DeleteFunc(slices.Clone(r.named[e.Attempt]), func(p Proof) bool {
				return p.Level != LevelRestorable
			})
			p, err := r.archive.signedProof(ctx, e, claimed)
			if err != nil {
				return nil, err
			}
			signed = p != nil
			r.signed[e.Attempt] = signed
		}
		if !signed {
			continue
		}
		out = append(out, e.Attempt)
		doubted, err := r.doubts(ctx, e)
		if err != nil || !doubted {
			return out, err
		}
	}
	return out, nil
}

// doubts reports whether a trusted key signed that a later proof of a backup failed.
func (r *restorations) doubts(ctx context.Context, e Entry) (bool, error) {
	doubted, known := r.doubted[e.Attempt]
	if e.Failed == nil || known {
		return doubted, nil
	}
	p, err := r.archive.firstSigned(ctx, e, unanswered(r.named[e.Attempt]))
	if err != nil {
		return false, err
	}
	r.doubted[e.Attempt] = p != nil
	return p != nil, nil
}
