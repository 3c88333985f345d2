package archive

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// failedPrefix leads the level of a proof that failed, in its name and in what is signed. Programs of before it read a
// level that they don't know, and ignore the object: to none of them is it a proof that succeeded.
const failedPrefix = "failed-"

// stored is the level as the object of a proof tells it.
func (p Proof) stored() Level {
	if p.Failed {
		return failedPrefix + p.Level
	}
	return p.Level
}

// storedLevel is a level, and whether its proof failed, as stored tells them.
func storedLevel(text string) (Level, bool) {
	level, failed := strings.CutPrefix(text, failedPrefix)
	return Level(level), failed
}

// mostReason bounds the reason of a proof that failed, in bytes.
const mostReason = 300

// Brief is a reason as a proof holds it: one line that can be printed, not longer than mostReason.
func Brief(reason string) string {
	reason = strings.Join(strings.FieldsFunc(reason, unicode.IsSpace), " ")
	reason = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, reason)
	if len(reason) <= mostReason {
		return reason
	}
	cut := mostReason - len("...")
	for !utf8.RuneStart(reason[cut]) {
		cut--
	}
	return reason[:cut] + "..."
}

// succeeded leaves out the proofs that failed.
func succeeded(all []Proof) []Proof {
	return slices.DeleteFunc(slices.Clone(all), func(p Proof) bool { return p.Failed })
}

// unanswered are the proofs that failed and that no later one of the same level or a higher one answers, newest first.
func unanswered(all []Proof) []Proof {
	out := slices.DeleteFunc(slices.Clone(all), func(p Proof) bool {
		return !p.Failed || slices.ContainsFunc(all, func(later Proof) bool {
			return !later.Failed && later.Level.rank() >= p.Level.rank() && later.Time.After(p.Time)
		})
	})
	slices.SortFunc(out, func(x, y Proof) int { return y.Time.Compare(x.Time) })
	return out
}

// FailedProof returns the newest proof of a backup that failed and that no later one of its level or a higher one
// answers, if a trusted key signed it; nil if there is none. What names alone claim does not count.
func (a *Archive) FailedProof(ctx context.Context, e Entry) (*Proof, error) {
	if e.Failed == nil {
		return nil, nil
	}
	all, err := a.proofs(ctx, e.Scope)
	if err != nil {
		return nil, err
	}
	return a.firstSigned(ctx, e, unanswered(all[e.Attempt]))
}
