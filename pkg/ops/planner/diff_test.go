package planner

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	gib := resource.MustParse("1Gi")
	app := v1alpha1.DatabaseUser{Name: "app"}
	for _, row := range []struct {
		name    string
		change  func(*v1alpha1.DatabaseClusterSpec)
		want    *v1alpha1.OperationSpec
		refused string
	}{
		{name: "nothing", change: func(*v1alpha1.DatabaseClusterSpec) {}},
		{name: "what counts without an operation", change: func(s *v1alpha1.DatabaseClusterSpec) {
			s.Paused, s.DeletionPolicy, s.Registry = true, v1alpha1.DeletionKeep, "mirror"
		}},
		{name: "the same amount in other words",
			change: func(s *v1alpha1.DatabaseClusterSpec) { s.Storage.Size = resource.MustParse("1024Mi") }},
		{name: "more members", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 5 },
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale, SizeParameters: v1alpha1.SizeParameters{Members: 5}}},
		{name: "an even number, insisted", change: func(s *v1alpha1.DatabaseClusterSpec) {
			s.Members, s.Waive = 4,
				[]string{"backup", "size"}
		},
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale, SizeParameters: v1alpha1.SizeParameters{Members: 4},
				Waive: []string{"size"}}},
		{name: "more room before more members", change: func(s *v1alpha1.DatabaseClusterSpec) {
			s.Members, s.Storage.Size = 5,
				resource.MustParse("2Gi")
		},
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbResize,
				SettingsParameters: v1alpha1.SettingsParameters{
					Change: &v1alpha1.SettingsChange{Size: new(resource.MustParse("2Gi"))}}}},
		{name: "memory taken away", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Resources.Requests = nil },
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbResize,
				SettingsParameters: v1alpha1.SettingsParameters{
					Change: &v1alpha1.SettingsChange{Requests: corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(0,
						gib.Format)}}}}},
		{name: "options", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Config = map[string]string{"speed": "high"} },
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbConfigure,
				SettingsParameters: v1alpha1.SettingsParameters{
					Change: &v1alpha1.SettingsChange{Set: map[string]string{"speed": "high"}, Unset: []string{"room"}}}}},
		{name: "another agent", change: func(s *v1alpha1.DatabaseClusterSpec) { s.HelperImage = "tool:2" },
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbConfigure, SettingsParameters: v1alpha1.SettingsParameters{
				Change: &v1alpha1.SettingsChange{HelperImage: new("tool:2")}}}},
		{name: "up", change: func(s *v1alpha1.DatabaseClusterSpec) {
			s.Version, s.Backup.Repository = "1.2.0",
				"pvc:backups"
		},
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbUpgrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "1.2.0"}, Repository: "pvc:backups"}},
		{name: "down, without a backup", change: func(s *v1alpha1.DatabaseClusterSpec) {
			s.Version, s.Waive = "1.0.10",
				[]string{"backup"}
		},
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbDowngrade,
				VersionParameters: v1alpha1.VersionParameters{Version: "1.0.10"}, Waive: []string{"backup"}}},
		{name: "up, and no place for the backup", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Version = "1.2.0" },
			refused: "repository"},
		{name: "up, and the backup on some machine", change: func(s *v1alpha1.DatabaseClusterSpec) {
			s.Version,
				s.Backup.Repository = "1.2.0", "dir:/home/me"
		}, refused: "repository"},
		{name: "another engine", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Engine = "other" }, refused: "engine"},
		{name: "in plain text", change: func(s *v1alpha1.DatabaseClusterSpec) { s.TLS.Disabled = true }, refused: "tls"},
		{name: "from a backup",
			change:  func(s *v1alpha1.DatabaseClusterSpec) { s.RestoreFrom = &v1alpha1.RestoreSource{Backup: "b"} },
			refused: "restoreFrom"},
		{name: "another class", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Storage.ClassName = new("fast") },
			refused: "storage.className"},
		{name: "another image", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Image = "mine" }, refused: "image"},
		{name: "stop before anything else",
			change: func(s *v1alpha1.DatabaseClusterSpec) { s.Stopped, s.Members = true, 5 },
			want:   &v1alpha1.OperationSpec{Verb: v1alpha1.VerbStop}},
		{name: "logins", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Auth.Enabled = true },
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbEnableAuth}},
		{name: "another repository", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Backup.Repository = "pvc:other" }},
		{name: "a schedule", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Backup = opstest.Nightly() },
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbSchedule,
				ScheduleParameters: v1alpha1.ScheduleParameters{Policy: new(opstest.Nightly())}}},
		{name: "a user", change: func(s *v1alpha1.DatabaseClusterSpec) { s.Auth.Users = []v1alpha1.DatabaseUser{app} },
			want: &v1alpha1.OperationSpec{Verb: v1alpha1.VerbCreateUser, UserParameters: v1alpha1.UserParameters{User: &app}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := opstest.Well(3).Cluster
			c.Spec.Storage.Size = gib
			c.Spec.Config = map[string]string{"room": "much"}
			c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: gib}
			spec := *c.Spec.DeepCopy()
			row.change(&spec)
			got, err := Diff(spec, c)
			if r, ok := errors.AsType[*engine.Refusal](err); row.refused != "" || err != nil {
				if !ok || r.Check != row.refused || r.Hint == "" {
					t.Errorf("error %v, want a refusal by %q", err, row.refused)
				}
				return
			}
			if row.want != nil {
				row.want.Cluster, row.want.RequestedBy = "db", DesiredBy
			}
			if diff := cmp.Diff(row.want, got, cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }),
				cmp.FilterValues(func(a, b []string) bool { return len(a)+len(b) == 0 }, cmp.Ignore())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// What was asked for is what is wanted: the next question finds nothing of it.
			if got != nil {
				Default(got, c)
				ApplyTo(c, &v1alpha1.Operation{Spec: *got})
				SyncSettings(spec, c, true)
				if next, err := Diff(spec, c); err != nil || next != nil && next.Verb == got.Verb {
					t.Errorf("asked for again: %+v, %v", next, err)
				}
			}
		})
	}
}

func TestSyncSettings(t *testing.T) {
	t.Parallel()
	c := opstest.Well(3).Cluster
	spec := *c.Spec.DeepCopy()
	if SyncSettings(spec, c, false) {
		t.Error("nothing differs")
	}
	spec.Paused, spec.Members, spec.Backup.Repository = true, 5, "pvc:backups"
	spec.TLS.Issuer, spec.Successor = &v1alpha1.Issuer{Name: "corporate"}, "next"
	if !SyncSettings(spec, c, false) || !c.Spec.Paused || c.Spec.Backup.Repository != "pvc:backups" ||
		*c.Spec.TLS.Issuer != *spec.TLS.Issuer || c.Spec.Successor != "next" {
		t.Errorf("not inherited: %+v", c.Spec)
	}
	if c.Spec.Members != 3 {
		t.Error("members take an operation")
	}
}

// TestSyncHelperImage: agents that run get another image by an operation, and no other pod does.
func TestSyncHelperImage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name         string
		agents, made bool
		want         string
	}{
		{"no agents", false, true, "tool:2"},
		{"agents", true, true, "tool:1"},
		{"agents that could not start yet", true, false, "tool:2"},
	} {
		c := opstest.Well(3).Cluster
		c.Spec.HelperImage = "tool:1"
		if !row.made {
			c.Status.Bootstrap.ClusterID = ""
		}
		spec := *c.Spec.DeepCopy()
		spec.HelperImage = "tool:2"
		if SyncSettings(spec, c, row.agents); c.Spec.HelperImage != row.want {
			t.Errorf("%s: the record names %s", row.name, c.Spec.HelperImage)
		}
	}
}

func TestWithdrawn(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		verb  v1alpha1.Verb
		phase v1alpha1.Phase
		want  int32
		back  bool
	}{
		{"as asked", v1alpha1.VerbScale, v1alpha1.PhaseRunning, 5, false},
		{"as before", v1alpha1.VerbScale, v1alpha1.PhaseRunning, 3, true},
		{"further on, and it goes on", v1alpha1.VerbScale, v1alpha1.PhaseRunning, 7, false},
		{"something else, and it can't go on", v1alpha1.VerbScale, v1alpha1.PhasePaused, 7, true},
		{"as asked, and it can't go on", v1alpha1.VerbScale, v1alpha1.PhasePaused, 5, false},
		{"stepping back already", v1alpha1.VerbScale, v1alpha1.PhaseCancelling, 3, false},
		{"no way back", v1alpha1.VerbDelete, v1alpha1.PhaseRunning, 3, false},
		{"asked for once", v1alpha1.VerbRestart, v1alpha1.PhasePaused, 3, false},
	} {
		op := opstest.Operation(row.verb)
		op.Spec.Members, op.Spec.FromMembers, op.Status.Phase = 5, 3, row.phase
		if got := Withdrawn(v1alpha1.DatabaseClusterSpec{Members: row.want}, op); got != row.back {
			t.Errorf("%s: %t", row.name, got)
		}
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	var got []string
	for _, pair := range [][2]string{{"3.6.9", "3.6.16"}, {"3.6.16", "3.6.9"}, {"3.5.35", "3.6.1"}, {"x", "3.6.1"}} {
		if older(pair[0], pair[1]) {
			got = append(got, strings.Join(pair[:], "<"))
		}
	}
	if diff := cmp.Diff([]string{"3.6.9<3.6.16", "3.5.35<3.6.1"}, got); diff != "" {
		t.Error(diff)
	}
}
