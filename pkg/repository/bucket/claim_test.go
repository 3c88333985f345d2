package bucket

import (
	"errors"
	"io/fs"
	"testing"
)

func TestClaim(t *testing.T) {
	t.Parallel()
	d, s := described(t)
	if at, ok := d.Claim(); ok {
		t.Errorf("%s is on a claim: %+v", d.URL, at)
	}
	d.URL = "pvc:backups/team"
	if at, ok := d.Claim(); !ok || at.Claim != "backups" || at.Path != "team" || d.Check() != nil ||
		len(d.CredentialNames()) > 0 {
		t.Errorf("%+v, %v, %v", at, ok, d.Check())
	}
	// Where nothing is mounted nothing is written.
	if _, err := Open(d, s, "shop", t.TempDir()); !errors.Is(err, ErrDescription) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened without its claim: %v", err)
	}
}

// TestClaimFree: a claim knows how many bytes fit.
func TestClaimFree(t *testing.T) {
	t.Parallel()
	d, s := described(t)
	d.URL = "pvc:backups"
	if free, err := inDirectory(t, t.TempDir(), d, s).Probe(t.Context()); free <= 0 || err != nil {
		t.Errorf("%d bytes are free, %v", free, err)
	}
}
