package cli_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

func TestFlagCompletion(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.AddPods("my-db", "my-db-1", "my-db-2")
	store := b.Records(kube.DryRunNone)
	c, err := store.GetCluster(t.Context(), "shop", "my-db")
	if err != nil {
		t.Fatal(err)
	}
	c.Spec.Backup.Repository, c.Status.LastBackup = "pvc:backups", &v1alpha1.BackupReference{Repository: "dir:/kept"}
	if err := store.UpdateCluster(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args      []string
		want      string
		directive string
	}{
		{[]string{"upgrade", "my-db", "--version", ""}, "3.6.2 3.7.0", ":4"},
		{[]string{"upgrade", "--version", ""}, "3.6.2 3.7.0", ":4"},
		{[]string{"plan", "upgrade", "my-db", "--version", "3.5"}, "", ":4"},
		{[]string{"downgrade", "my-db", "--version", ""}, "", ":4"},
		{[]string{"configure", "my-db", "--set", ""}, "color= speed=", ":6"},
		{[]string{"configure", "my-db", "--unset", "c"}, "color", ":4"},
		{[]string{"create", "x", "--storage-class", ""}, "fast", ":4"},
		{[]string{"create", "x", "--storage-class", "/"}, "", ":4"},
		{[]string{"create", "x", "--ca-secret", ""}, "mine", ":4"},
		{[]string{"inspect", "x", "--cert-secret", "m"}, "mine", ":4"},
		{[]string{"switchover", "my-db", "--to", ""}, "my-db-1 my-db-2", ":4"},
		{[]string{"switchover", "--to", ""}, "my-db-1 my-db-2", ":4"},
		{[]string{"plan", "switchover", "my-db", "--to", "x"}, "", ":4"},
		{[]string{"recover", "my-db", "--dead", ""}, "my-db-1 my-db-2", ":4"},
		{[]string{"operator", "install", "--watch", "s"}, "shop stage", ":4"},
		{[]string{"upgrade", "my-db", "--timeout", ""}, "", ":4"},
		{[]string{"backup", "my-db", "--to", ""}, "", ":16"},
		{[]string{"support-bundle", "my-db", "--file", ""}, "tar.gz", ":8"},
		{[]string{"backup", "list", "--repository", "p"}, "pvc:backups", ":4"},
		{[]string{"backup", "my-db", "--repository", ""}, "dir:/kept pvc:backups", ":4"},
	} {
		r := b.Run(append([]string{"__complete"}, test.args...)...)
		lines := strings.Split(strings.TrimSpace(r.Out), "\n")
		got, directive := strings.Join(lines[:len(lines)-1], " "), lines[len(lines)-1]
		if got != test.want || directive != test.directive {
			t.Errorf("%v: %q %s, want %q %s", test.args, got, directive, test.want, test.directive)
		}
	}
}
