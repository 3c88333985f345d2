package ops_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// telling is an engine whose server tells of its options, beside one of the agents.
type telling struct{ engine.Engine }

func (telling) LiveOptions(v1alpha1.DatabaseClusterSpec) (map[string]string, error) { return nil, nil }

func (telling) AtStart(string, []string) []string { return nil }

func (telling) LeaderFirst(_, _ map[string]string) []string { return nil }

func (telling) Keeps(option string) string {
	if option == "fsync" {
		return "safety"
	}
	return ""
}

func (telling) ListOptions(string) ([]engine.Option, error) {
	return []engine.Option{{Name: "durability", Default: "preferred"}, {Name: "max-lag", Default: "16Mi"}}, nil
}

func (telling) Options(*v1alpha1.DatabaseCluster, string) (map[string]string, error) { return nil, nil }

// TestOptions: each option says who chose its value, and what is not a person's says why.
func TestOptions(t *testing.T) {
	t.Parallel()
	c := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Config: map[string]string{
		"work_mem": "9MB", "max-lag": "1Mi", "unloaded.depth": "2", "cost": "2",
	}}}
	told := []engine.LiveOption{
		{Option: engine.Option{Name: "work_mem", Default: "4MB", Allowed: "64kB to 2GB"}, Value: "9216kB", Given: true},
		{Option: engine.Option{Name: "jit", Default: "on"}, Value: "on"},
		{Option: engine.Option{Name: "keep_size", Default: "0", Restart: true}, Value: "1GB", Given: true},
		{Option: engine.Option{Name: "cost", Default: "1"}, Value: "3", Given: true, Overridden: true},
		{Option: engine.Option{Name: "fsync"}, Given: true, Kept: true},
		{Option: engine.Option{Name: "port"}, Kept: true},
	}
	got, err := ops.Options(telling{}, c, told)
	if err != nil {
		t.Fatal(err)
	}
	want := []ops.OptionState{
		{Option: engine.Option{Name: "cost", Default: "1"}, Value: "3", From: "override"},
		{Option: engine.Option{Name: "durability", Default: "preferred"}, Value: "preferred", From: "default"},
		{Option: engine.Option{Name: "fsync", Managed: "safety"}, From: "dbop"},
		{Option: engine.Option{Name: "jit", Default: "on"}, Value: "on", From: "default"},
		{Option: engine.Option{Name: "keep_size", Default: "0", Restart: true}, Value: "1GB", From: "dbop"},
		{Option: engine.Option{Name: "max-lag", Default: "16Mi"}, Value: "1Mi", From: "you"},
		{Option: engine.Option{Name: "port", Managed: "the agent sets it"}, From: "dbop"},
		{Option: engine.Option{Name: "unloaded.depth"}, Value: "2", From: "you"},
		{Option: engine.Option{Name: "work_mem", Default: "4MB", Allowed: "64kB to 2GB"}, Value: "9216kB", From: "you"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
