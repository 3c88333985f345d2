package repositories_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// TestSigningKeys: another key takes over and the former one stays trusted, until it is distrusted.
func TestSigningKeys(t *testing.T) {
	b := bench(t)
	add := []string{"repository", "add", "offsite", "--url", url}
	if r := b.Run(append(add, "--from-env", "--no-encryption")...); r.Code != exit.Done {
		t.Fatalf("exit %d\n%s", r.Code, r.Err)
	}
	inForce := func() string {
		id, err := archive.SignerID(string(b.Repositories.Kept["offsite"][bucket.FileSigningKey]))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	trusted := func() (out []string) {
		for _, public := range b.Repositories.Descriptions["offsite"].Trusted {
			id, err := archive.KeyID(public)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, id)
		}
		return out
	}
	first := inForce()
	steps := []struct {
		args []string
		code int
		says string
		// second: another key signs. trusts counts the keys.
		second bool
		trusts int
	}{
		{[]string{"--distrust", first}, exit.Refused, "--new-signing-key", false, 1},
		{[]string{"--distrust", "00000000"}, exit.Usage, first, false, 1},
		{[]string{"--new-signing-key", "--dry-run"}, exit.Done, "dry run", false, 1},
		{[]string{"--new-signing-key", "--distrust", first}, exit.Usage, "distrust", false, 1},
		{[]string{"--new-signing-key"}, exit.Done, "configured", true, 2},
		{[]string{"--bandwidth", "50Mi"}, exit.Done, "configured", true, 2},
		{[]string{"--distrust", first}, exit.Done, "configured", true, 1},
	}
	for _, s := range steps {
		r := b.Run(append(slices.Clone(add), s.args...)...)
		have := trusted()
		if r.Code != s.code || !strings.Contains(r.Err, s.says) || (inForce() != first) != s.second ||
			len(have) != s.trusts || !slices.Contains(have, inForce()) {
			t.Errorf("%q: exit %d, %s signs, trusted %q\n%s%s", s.args, r.Code, inForce(), have, r.Out, r.Err)
		}
		list, check := b.Run("repository", "list", "-o", "wide"), b.Run("repository", "check", "offsite")
		if !strings.Contains(list.Out, strings.Join(have, ",")) || !strings.Contains(check.Out, "signs with "+inForce()) {
			t.Errorf("%q: not told:\n%s%s", s.args, list.Out, check.Out)
		}
		if said := r.Out + r.Err + list.Out + check.Out; strings.Contains(said, "PRIVATE") {
			t.Errorf("%q: it tells a secret:\n%s", s.args, said)
		}
	}
}
