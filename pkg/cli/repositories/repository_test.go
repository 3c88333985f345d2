package repositories_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// bench is a command line with credentials in its environment, over a store that is fine.
func bench(t *testing.T) *clitest.Bench {
	t.Helper()
	b := clitest.New(t)
	b.Env["AWS_ACCESS_KEY_ID"], b.Env["AWS_SECRET_ACCESS_KEY"] = "me", "geheim"
	b.Repositories.Facts = []store.Fact{{What: "never replaces an object by a put", OK: true, Required: true}}
	return b
}

const url = "s3://backups/shop"

func TestAddAndRemove(t *testing.T) {
	b := bench(t)
	key := filepath.Join(b.Dir, "key.txt")
	r := b.Run("repository", "add", "offsite", "--url", url, "--from-env", "--new-key-file", key)
	if r.Code != exit.Done || !strings.Contains(r.Err, "repository/offsite added") {
		t.Fatalf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	secret, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	d, kept := b.Repositories.Descriptions["offsite"], b.Repositories.Kept["offsite"]
	if len(d.Recipients) != 1 || len(d.Trusted) != 1 || d.Identity || string(kept["AWS_SECRET_ACCESS_KEY"]) != "geheim" {
		t.Errorf("%+v", d)
	}
	// A repeat keeps the keys, and the secret key comes where a person wants it.
	again := b.Run("repository", "add", "offsite", "--url", url, "--identity-file", key)
	now := b.Repositories.Descriptions["offsite"]
	if again.Code != exit.Done || !now.Identity || now.Recipients[0] != d.Recipients[0] ||
		now.Trusted[0] != d.Trusted[0] ||
		string(b.Repositories.Kept["offsite"][bucket.FileIdentity]) != string(secret) {
		t.Errorf("exit %d\n%s%s\n%+v", again.Code, again.Out, again.Err, now)
	}
	list := b.Run("repository", "list", "-o", "json")
	for _, said := range []clitest.Result{r, again, list, b.Run("repository", "check", "offsite")} {
		if text := said.Out + said.Err; strings.Contains(text, "geheim") || strings.Contains(text, "AGE-SECRET") ||
			strings.Contains(text, "PRIVATE") {
			t.Errorf("it tells a secret:\n%s", text)
		}
	}
	if r := b.Run("repository", "remove", "offsite", "--yes"); r.Code != exit.Done ||
		len(b.Repositories.Descriptions) != 0 {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("repository", "remove", "offsite", "--yes"); r.Code == exit.Done ||
		!strings.Contains(r.Err, "repository list") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

// TestAddGoogle: the environment of Google's tools names a file, and its content is kept.
func TestAddGoogle(t *testing.T) {
	b := bench(t)
	file := filepath.Join(b.Dir, "account.json")
	b.Env["GOOGLE_APPLICATION_CREDENTIALS"] = file
	args := []string{"repository", "add", "offsite", "--url", "gs://backups/shop", "--from-env", "--no-encryption"}
	if r := b.Run(args...); r.Code != exit.Failed || !strings.Contains(r.Err, "GOOGLE_APPLICATION_CREDENTIALS") {
		t.Errorf("no file: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if err := os.WriteFile(file, []byte("geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := b.Run(args...)
	if kept := string(b.Repositories.Kept["offsite"]["GOOGLE_CREDENTIALS"]); r.Code != exit.Done || kept != "geheim" ||
		strings.Contains(r.Out+r.Err, "geheim") {
		t.Errorf("exit %d, kept %q\n%s%s", r.Code, kept, r.Out, r.Err)
	}
}

// TestAddClaim: a claim takes no credentials, and says where pods can be that mount it.
func TestAddClaim(t *testing.T) {
	b := bench(t)
	b.Repositories.Claims = map[string]preflight.Mountable{"anywhere": preflight.OnAnyNode, "node": preflight.OnOneNode,
		"pod": preflight.ByOnePod}
	for name, row := range map[string]struct {
		url  string
		args []string
		code int
		says string
	}{
		"no such claim":  {"pvc:nowhere", nil, exit.Refused, "no persistentvolumeclaim nowhere in namespace"},
		"for one pod":    {"pvc:pod", nil, exit.Refused, "ReadWriteMany"},
		"credentials":    {"pvc:node", []string{"--from-env"}, exit.Usage, "takes no credentials"},
		"a region":       {"pvc:node", []string{"--region", "west"}, exit.Failed, "of S3 alone"},
		"out of a claim": {"pvc:node/../x", nil, exit.Usage, "leads out of the claim"},
	} {
		r := b.Run(append([]string{"repository", "add", "nearby", "--no-encryption", "--url", row.url}, row.args...)...)
		if r.Code != row.code || !strings.Contains(r.Err, row.says) || len(b.Repositories.Descriptions) > 0 {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", name, r.Code, row.code, row.says, r.Out, r.Err)
		}
	}
	for claim, oneNode := range map[string]bool{"node": true, "anywhere": false} {
		r := b.Run("repository", "add", claim, "--no-encryption", "--url", "pvc:"+claim+"/team/")
		d := b.Repositories.Descriptions[claim]
		if r.Code != exit.Done || d.URL != "pvc:"+claim+"/team" || d.OneNode != oneNode || d.Credentials != "" ||
			!strings.Contains(r.Err, "who can read the claim") {
			t.Errorf("exit %d, %+v\n%s%s", r.Code, d, r.Out, r.Err)
		}
	}
}

// TestAddRefuses: nothing is kept, and no key is made, unless all is right.
func TestAddRefuses(t *testing.T) {
	base := []string{"repository", "add", "offsite", "--url", url}
	for name, row := range map[string]struct {
		args []string
		lies bool
		code int
		says string
	}{
		"no choice about encryption": {[]string{"--from-env"}, false, exit.Usage, "--no-encryption"},
		"no credentials":             {[]string{"--no-encryption"}, false, exit.Usage, "--from-env"},
		"two kinds of them":          {[]string{"--from-env", "--secret", "x"}, false, exit.Usage, "exclude each other"},
		"encrypted and not": {[]string{"--from-env", "--no-encryption", "--recipient", "age1"}, false, exit.Usage,
			"goes without"},
		"no bucket": {[]string{"--from-env", "--no-encryption", "--url", "ftp://x"}, false, exit.Failed, "s3://BUCKET"},
		"a bandwidth without its unit": {[]string{"--from-env", "--no-encryption", "--bandwidth", "50"}, false, exit.Failed,
			"64Ki"},
		"a store that lies": {[]string{"--from-env", "--new-key-file", "KEY"}, true, exit.Refused,
			"not do what a repository needs"},
		"only a trial": {[]string{"--from-env", "--new-key-file", "KEY", "--dry-run"}, false, exit.Done, "dry run"},
	} {
		t.Run(name, func(t *testing.T) {
			b := bench(t)
			key := filepath.Join(b.Dir, "key.txt")
			if row.lies {
				b.Repositories.ProbeErr = fmt.Errorf("%w: it replaces", store.ErrLies)
			}
			args := append([]string{}, base...)
			for _, a := range row.args {
				args = append(args, strings.ReplaceAll(a, "KEY", key))
			}
			r := b.Run(args...)
			if r.Code != row.code || !strings.Contains(r.Err, row.says) {
				t.Errorf("exit %d, want %d and %q\n%s%s", r.Code, row.code, row.says, r.Out, r.Err)
			}
			if _, err := os.Stat(key); len(b.Repositories.Descriptions) > 0 || err == nil {
				t.Errorf("it kept %+v, key %v", b.Repositories.Descriptions, err)
			}
		})
	}
}

// TestDrill: a key that reads everything passes, and one that does not is refused with what it would lose.
func TestDrill(t *testing.T) {
	b := bench(t)
	key := filepath.Join(b.Dir, "key.txt")
	b.Must("repository", "add", "offsite", "--url", url, "--from-env", "--new-key-file", key)
	for want, c := range map[string]struct {
		drilled bucket.Drill
		code    int
	}{
		"12 of 12\n":              {bucket.Drill{Current: true, Read: 12, Tried: 12, All: 12}, exit.Done},
		"0 of 0\n":                {bucket.Drill{Current: true}, exit.Done},
		"9 of 12; no key reads 3": {bucket.Drill{Current: true, Read: 9, Tried: 12, All: 12, Unknown: 3}, exit.Done},
		"3 of the 200 newest; the newest that it does not read is my-db-7": {
			bucket.Drill{Current: true, Read: 3, Tried: 200, All: 900, Lost: "my-db-7"}, exit.Refused},
		"keep the other secret keys as well": {bucket.Drill{Read: 12, Tried: 12, All: 12}, exit.Refused},
	} {
		b.Repositories.Drilled = c.drilled
		r := b.Run("repository", "check", "offsite", "--identity-file", key)
		if r.Code != c.code || !strings.Contains(r.Out+r.Err, want) || strings.Contains(r.Out+r.Err, "AGE-SECRET") {
			t.Errorf("%q: exit %d\n%s%s", want, r.Code, r.Out, r.Err)
		}
	}
	if r := b.Run("repository", "check", "offsite", "--identity-file", key+".none"); r.Code != exit.Failed {
		t.Errorf("no such file: exit %d\n%s", r.Code, r.Err)
	}
	b.Must("repository", "add", "plain", "--url", url+"/plain", "--from-env", "--no-encryption")
	if r := b.Run("repository", "check", "plain", "--identity-file", key); r.Code != exit.Refused {
		t.Errorf("without encryption: exit %d\n%s", r.Code, r.Err)
	}
}
