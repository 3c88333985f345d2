package datadir

import "testing"

// TestNeeds: what a copy keeps for the archive, by the history that it follows.
func TestNeeds(t *testing.T) {
	t.Parallel()
	past := Lineage{Timeline: 4,
		Forks: []Fork{{Timeline: 1, End: 0x5000028}, {Timeline: 2, End: 0x7000000}}}
	for name, want := range map[string]Need{
		"000000010000000000000004":                 Needed,
		"000000010000000000000005":                 Useless, // it ends after the fork: timeline 2 has a file of that place
		"000000020000000000000006":                 Needed,
		"000000020000000000000007":                 Useless,
		"000000030000000000000006":                 Useless, // nobody was on it
		"000000040000000000000009":                 Needed,
		"000000050000000000000009":                 Undecided,
		"00000004.history":                         Needed,
		"00000002.history":                         Needed,
		"00000005.history":                         Undecided,
		"000000010000000000000005.partial":         Useless,
		"000000010000000000000004.00000028.backup": Useless,
	} {
		if got := past.Needs(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
