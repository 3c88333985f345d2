package rules

import (
	"context"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// converting is an engine that converts all data of version 1.
type converting struct{ engine.Engine }

func (converting) Converts(from, _ string) bool { return from == "1" }

func (converting) CopyPrograms(string, string) error { return nil }

func (converting) Convert(context.Context, string, engine.Conversion) error { return nil }

// TestConversion: the step that loads a backup says that its data is converted, and of other backups nothing.
func TestConversion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		engine engine.Engine
		source *v1alpha1.BackupSource
		want   string
	}{
		"an older backup":     {converting{}, &v1alpha1.BackupSource{Version: "1"}, ", and convert its data from 1 to 3"},
		"a newer backup":      {converting{}, &v1alpha1.BackupSource{Version: "2"}, ""},
		"another engine":      {nil, &v1alpha1.BackupSource{Version: "1"}, ""},
		"its own last backup": {converting{}, nil, ""},
	} {
		s := ops.State{Cluster: &v1alpha1.DatabaseCluster{}, Operation: &v1alpha1.Operation{}}
		s.Cluster.Spec.Version, s.Operation.Spec.Source = "3", c.source
		if got := (Situation{E: c.engine, S: s}).Conversion(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from *v1alpha1.BackupSource
		want string
	}{
		{nil, ""},
		{&v1alpha1.BackupSource{Seconds: 9}, ""},
		{&v1alpha1.BackupSource{Bytes: 3 << 19}, "it holds 1.5 MiB"},
		{&v1alpha1.BackupSource{Bytes: 3 << 30, Seconds: 95},
			"it holds 3072.0 MiB, and took 1m35s to take: so long it may take to load"},
	} {
		if got := takes(c.from); got != c.want {
			t.Errorf("%+v: %q, want %q", c.from, got, c.want)
		}
	}
}
