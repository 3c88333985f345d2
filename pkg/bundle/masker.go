// Package bundle makes what a person hands to support: one archive, in which
// no secret is left. Masker is the only way into it.
package bundle

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// masked is where a secret was.
const masked = "<masked>"

// leastLearned is the shortest value that is searched for everywhere: shorter
// ones occur by chance, and would only scar harmless text.
const leastLearned = 6

// Masker takes secrets out of whatever is to be handed on. What it has learned
// of real secrets it finds anywhere, in any text; what merely resembles one
// goes as well. Learn before anything is masked.
type Masker struct{ known []string }

// Learn remembers the values of a Secret, as they are and in base64.
func (m *Masker) Learn(s *corev1.Secret) {
	for _, value := range s.Data {
		m.learn(string(value))
	}
	for _, value := range s.StringData {
		m.learn(value)
	}
	// Longest first, so that no part of a value is left of another one.
	slices.SortFunc(m.known, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	m.known = slices.Compact(m.known)
}

func (m *Masker) learn(value string) {
	if len(certificates([]byte(value))) > 0 && !strings.Contains(value, "PRIVATE KEY") {
		return // shown to every client that connects
	}
	for _, v := range []string{value, strings.TrimSpace(value)} {
		if len(v) >= leastLearned {
			m.known = append(m.known, v, base64.StdEncoding.EncodeToString([]byte(v)),
				strings.Trim(fmt.Sprintf("%q", v), `"`))
		}
	}
}

// pattern is something that resembles a secret; what its groups hold stays.
type pattern struct{ what *regexp.Regexp }

// patterns of secrets in free text.
func patterns() []pattern {
	return []pattern{
		{regexp.MustCompile(`()-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)},
		{regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)},
		{regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}`)},
		{regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^/\s:@"]*:)[^@/\s"]+(@)`)},
		{regexp.MustCompile(`(?i)((?:password|passwd|passphrase|secret|api[-_]?key|access[-_]?key|private[-_]?key|` +
			`credentials?|(?:auth|access|bearer|id|refresh)[-_]?token)\\?["']?[ \t]*[=:][ \t]*\\?["']?)[^\s"',;&\\]+`)},
	}
}

// Text masks free text: a log, a file that was rendered from masked objects.
func (m *Masker) Text(s string) string {
	for _, v := range m.known {
		s = strings.ReplaceAll(s, v, masked)
	}
	for _, p := range patterns() {
		s = p.what.ReplaceAllString(s, "${1}"+masked+"${2}")
	}
	return s
}

// secretName reports whether what bears a name is likely to be a secret.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"passw", "passphrase", "secret", "token", "credential", "private", "apikey",
		"api-key", "api_key", "access-key", "access_key"},
		func(w string) bool { return strings.Contains(name, w) })
}

// harmless are variables whose values help and hide nothing.
func harmless(name string) bool {
	return (strings.HasPrefix(name, "ETCD_") || slices.Contains([]string{"GOMAXPROCS", "GOMEMLIMIT", "GODEBUG", "GOGC",
		"TZ"}, name)) && !secretName(name)
}
