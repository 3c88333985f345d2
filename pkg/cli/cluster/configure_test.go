package cluster_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestConfigureLists(t *testing.T) {
	b := clitest.New(t)
	b.Must("create", "my-db", "--engine", "fakedb", "--version", "3.5", "--config", "color=green", "--progress", "none")
	for name, args := range map[string][]string{
		"configure":      {"configure", "my-db"},
		"configure_wide": {"configure", "my-db", "-o", "wide"},
		"configure_json": {"configure", "my-db", "-o", "json"},
	} {
		b.Golden(name, b.Run(args...))
	}
	if len(b.Writes) > 0 {
		t.Errorf("wrote %v", b.Writes)
	}
}

func TestConfigureChanges(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"configure", "my-db", "--set", "color=green"}, exit.Done, "fakedb/my-db configured"},
		{[]string{"configure", "my-db", "--set", "color=green"}, exit.Done, "fakedb/my-db unchanged"},
		{[]string{"configure", "my-db", "--set", "colour=green"}, exit.Refused, "hint: did you mean color?"},
		{[]string{"configure", "my-db", "--set", "color"}, exit.Usage, "--set takes NAME=VALUE"},
		{[]string{"configure", "my-db", "--set", "color=red", "--unset", "color"}, exit.Usage, "both set and unset"},
		{[]string{"configure", "my-db", "--unset", "color"}, exit.Done, "fakedb/my-db configured"},
		{[]string{"configure", "my-db", "--helper-image", ""}, exit.Usage, "--helper-image takes the name of an image"},
		{[]string{"configure", "my-db", "--helper-image", "https://tool"}, exit.Refused, "--helper-image"},
		{[]string{"plan", "configure", "my-db", "--helper-image", "tool:2"}, exit.Done,
			"Take pods that load or keep backups from tool:2"},
		{[]string{"configure", "my-db", "--helper-image", "tool:2"}, exit.Done, "fakedb/my-db configured"},
		{[]string{"configure", "my-db", "--helper-image", "tool:2"}, exit.Done, "fakedb/my-db unchanged"},
		{[]string{"undo", "my-db", "--yes"}, exit.Done, "fakedb/my-db"},
		{[]string{"resize", "my-db"}, exit.Usage, "say what is to change"},
		{[]string{"resize", "my-db", "--memory", "much"}, exit.Usage, "is not an amount"},
		{[]string{"resize", "my-db", "--memory", "1Gi"}, exit.Done, "fakedb/my-db resized"},
		{[]string{"resize", "my-db", "--memory-limit", "512Mi"}, exit.Refused,
			"the request of 1Gi memory is above its limit of 512Mi"},
		{[]string{"resize", "my-db", "--storage", "512Mi"}, exit.Refused, "can't make one smaller"},
		{[]string{"resize", "my-db", "--storage", "2Gi", "--dry-run"}, exit.Done, "fakedb/my-db resized (dry run)"},
	} {
		r := b.Run(c.args...)
		if r.Code != c.code || !strings.Contains(r.Out+r.Err, c.says) {
			t.Errorf("%v: exit %d, want %d and %q\n%s%s", c.args, r.Code, c.code, c.says, r.Out, r.Err)
		}
	}
}
