package ops

import (
	"strings"
	"unicode"
)

// Printable replaces what a terminal would obey rather than show: escape
// sequences, other control characters, and marks that change the direction of
// text. Manifests, records, names of members, events and errors of others may
// hold any of it. Lines and tabs stay.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		turns := r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
		if turns || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, s)
}
