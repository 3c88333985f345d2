package etcd

import "testing"

func TestCheckRestore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, check, reason string }{
		{"3.5.35", "3.5.35", "", ""},
		{"3.5.9", "3.6.16", "", ""},
		{"3.6.16", "3.6.5", "", ""},
		{"3.6.16", "3.7.3", "", ""},
		{"3.5.35", "3.7.3", "backup-version", "same minor or the next"},
		{"3.6.16", "3.5.35", "backup-version", "same minor or the next"},
		{"3.5.35", "3.5.9", "version-floor", "bump-revision"},
		{"3.5.35", "3.6.0", "version-floor", "3.6.5"},
		{"", "3.6.16", "backup-version", "does not say"},
		{"3.6.16", "4.0.0", "version", "4.0"},
	} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			t.Parallel()
			expect(t, New().CheckRestore(c.from, c.to), c.check, c.reason)
		})
	}
}
