package repositories_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// TestAddRetain: a retention is kept, changed and taken back, and as long as there is one the store must prove it.
func TestAddRetain(t *testing.T) {
	b := bench(t)
	add := []string{"repository", "add", "offsite", "--url", url, "--from-env", "--no-encryption"}
	for _, step := range []struct {
		args         []string
		length, mode string
	}{
		{nil, "", ""},
		{[]string{"--retain", "30d"}, "30d", ""},
		{[]string{"--region", "west"}, "30d", ""},
		{[]string{"--retain-mode", "compliance"}, "30d", "compliance"},
		{[]string{"--retain", "4w"}, "4w", "compliance"},
		{[]string{"--retain-mode", "governance"}, "4w", ""},
		{[]string{"--retain-mode", "compliance"}, "4w", "compliance"},
		{[]string{"--retain", "0"}, "", ""},
	} {
		r := b.Run(append(slices.Clip(add), step.args...)...)
		d := b.Repositories.Descriptions["offsite"]
		if r.Code != exit.Done || d.Retain != step.length || d.RetainMode != step.mode ||
			b.Repositories.Retention != (step.length != "") {
			t.Errorf("%q: exit %d, %+v, proven %t\n%s", step.args, r.Code, d, b.Repositories.Retention, r.Err)
		}
		if b.Must("repository", "check", "offsite"); b.Repositories.Retention != (step.length != "") {
			t.Errorf("%q: the check asks for a retention: %t", step.args, b.Repositories.Retention)
		}
		wide, sheet := b.Run("repository", "list", "-o", "wide").Out, b.Run("repository", "list", "-o", "yaml").Out
		if !strings.HasSuffix(wide, " "+cmp.Or(step.length, "no")+"\n") ||
			strings.Contains(sheet, "retain: "+step.length) != (step.length != "") {
			t.Errorf("%q: it lists\n%s%s", step.args, wide, sheet)
		}
	}
}

func TestAddRetainRefuses(t *testing.T) {
	for name, args := range map[string][]string{
		"no age":     {"--url", url, "--retain", "30"},
		"for ever":   {"--url", url, "--retain", "99y"},
		"too long":   {"--url", url, "--retain", "5000d"},
		"no mode":    {"--url", url, "--retain", "30d", "--retain-mode", "strict"},
		"no length":  {"--url", url, "--retain-mode", "compliance"},
		"of Google":  {"--url", "gs://backups", "--retain", "30d"},
		"of Azure":   {"--url", "azure://account/backups", "--retain", "30d"},
		"of a claim": {"--url", "pvc:node", "--retain", "30d"},
	} {
		b := bench(t)
		for _, credential := range (bucket.Description{}).CredentialNames() {
			b.Env[credential] = "geheim"
		}
		all := append([]string{"repository", "add", "offsite", "--no-encryption"}, args...)
		if name != "of a claim" {
			all = append(all, "--from-env")
		}
		if r := b.Run(all...); r.Code != exit.Failed || len(b.Repositories.Descriptions) > 0 {
			t.Errorf("%s: exit %d\n%s%s", name, r.Code, r.Out, r.Err)
		}
	}
}
