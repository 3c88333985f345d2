package cli_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// dryRuns is one command line for every changing command; the bench has a
// cluster my-db and a backup of it.
func dryRuns(backup string) map[string][]string {
	return map[string][]string{
		"create":          {"create", "other", "--engine", "fakedb"},
		"add-member":      {"add-member", "my-db"},
		"member add":      {"member", "add", "my-db"},
		"member remove":   {"member", "remove", "my-db", "my-db-3"},
		"scale":           {"scale", "my-db", "--members", "5"},
		"drop-volumes":    {"drop-volumes", "my-db"},
		"upgrade":         {"upgrade", "my-db", "--version", "3.6"},
		"downgrade":       {"downgrade", "newer", "--version", "3.5"},
		"backup":          {"backup", "my-db", "--verify"},
		"backup verify":   {"backup", "verify", backup},
		"backup delete":   {"backup", "delete", backup},
		"backup schedule": {"backup", "schedule", "my-db", "0 2 * * *", "--repository", "pvc:backups"},
		"restore":         {"restore", "copy", "--from", backup},
		"restore-in":      {"restore", "my-db", "--in-place", "--from", backup},
		"delete":          {"delete", "my-db", "--purge"},
		"resume":          {"resume", "my-db"},
		"cancel":          {"cancel", "my-db"},

		"member replace": {"member", "replace", "my-db", "my-db-3", "--force"},
		"switchover":     {"switchover", "my-db", "--to", "my-db-2"},
		"restart":        {"restart", "my-db"},
		"repair":         {"repair", "my-db"},
		"stop":           {"stop", "my-db"},
		"start":          {"start", "my-db"},
		"defrag":         {"defrag", "my-db"},
		"compact":        {"compact", "my-db"},
		"alarms clear":   {"alarms", "clear", "my-db"},
		"recover":        {"recover", "my-db"},

		"user auth enable":    {"user", "auth", "enable", "my-db"},
		"user auth disable":   {"user", "auth", "disable", "my-db"},
		"user create":         {"user", "create", "my-db", "billing"},
		"user delete":         {"user", "delete", "my-db", "listed"},
		"user rotate":         {"user", "rotate", "my-db"},
		"certificates rotate": {"certificates", "rotate", "my-db"},
		"configure":           {"configure", "my-db", "--set", "color=green"},
		"resize":              {"resize", "my-db", "--memory", "1Gi", "--storage", "20Gi"},
		"pause":               {"pause", "my-db"},
		"undo":                {"undo", "newer"},
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	for _, mode := range []string{command.DryRunClient, command.DryRunServer} {
		b := clitest.New(t)
		b.CreateCluster("my-db")
		b.Must("create", "newer", "--engine", "fakedb", "--version", "3.6", "--progress", "none")
		b.Must("scale", "newer", "--members", "5", "--progress", "none")
		b.Must("user", "create", "my-db", "listed", "--progress", "none")
		b.Writes = nil
		id := b.Backup("my-db")
		known := dryRuns(id)
		for name, args := range known {
			t.Run(mode+"/"+name, func(t *testing.T) {
				b.T = t
				r := b.Run(append(args, "--dry-run="+mode)...)
				if r.Code != exit.Done {
					t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
				}
				if len(b.Writes) > 0 {
					t.Errorf("wrote %v", b.Writes)
				}
				if b.Run("backup", "describe", id).Code != exit.Done {
					t.Error("the backup is gone")
				}
			})
		}
		for _, path := range changingCommands() {
			// The fake database elects its leader itself, and follows no other server: it refuses these.
			refused := []string{string(v1alpha1.VerbFailover), string(v1alpha1.VerbHold),
				string(v1alpha1.VerbFollow), string(v1alpha1.VerbCutover)}
			if _, ok := known[strings.Join(path, " ")]; !ok && !slices.Contains(refused, path[0]) {
				t.Errorf("%v is not tried", path)
			}
		}
	}
}

func TestDryRunSaysSo(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for mode, want := range map[string]string{
		"--dry-run":        "fakedb/my-db scaled (dry run)\n",
		"--dry-run=client": "fakedb/my-db scaled (dry run)\n",
		"--dry-run=server": "fakedb/my-db scaled (server dry run)\n",
	} {
		r := b.Run("scale", "my-db", "--members", "5", mode)
		if r.Out != want {
			t.Errorf("%s: %q, want %q", mode, r.Out, want)
		}
	}
	r := b.Run("scale", "my-db", "--members", "5", "--dry-run=server")
	if !strings.Contains(r.Err, "not rehearsed: Register my-db-4 as a learner (the database has no dry run)") {
		t.Errorf("what can't be rehearsed is not listed:\n%s", r.Err)
	}
}

func TestDryRunNeverPrompts(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := b.Run("delete", "my-db", "--purge", "--dry-run=client"); r.Code != exit.Done {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
}

// TestPlanTakesTheFlagsOfTheCommand: a person who has the line that changes something
// puts plan before it.
func TestPlanTakesTheFlagsOfTheCommand(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for _, args := range [][]string{{"scale", "my-db", "--members", "5"}, {"delete", "my-db", "--purge", "--yes"},
		{"delete", "my-db", "-y"}, {"stop", "my-db", "--yes"}} {
		plan := append([]string{"plan"}, args...)
		bare := b.Run(slices.DeleteFunc(slices.Clone(plan), func(a string) bool { return a == "--yes" || a == "-y" })...)
		r := b.Run(append(plan, "--progress=none", "--error-unchanged")...)
		if r.Code != exit.Done || r.Out != bare.Out || len(b.Writes) > 0 {
			t.Errorf("%v: exit %d, wrote %v\n%s%s", plan, r.Code, b.Writes, r.Out, r.Err)
		}
	}
}

func TestPlan(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	id := b.Backup("my-db")
	for name, args := range map[string][]string{
		"create":    {"plan", "create", "other", "--engine", "fakedb"},
		"upgrade":   {"plan", "upgrade", "--version", "3.6"},
		"scale":     {"plan", "scale", "my-db", "--members", "5"},
		"shrink":    {"plan", "scale", "my-db", "--members", "1"},
		"delete":    {"plan", "delete", "my-db"},
		"purge":     {"plan", "delete", "my-db", "--purge"},
		"restore":   {"plan", "restore", "my-db", "--in-place", "--from", id},
		"configure": {"plan", "configure", "my-db", "--set", "color=green", "--unset", "speed"},
		"resize":    {"plan", "resize", "my-db", "--memory", "1Gi", "--storage", "20Gi"},
		"nothing":   {"plan", "scale", "my-db", "--members", "3"},
		"compact":   {"plan", "compact", "my-db"},
		"blocked":   {"plan", "upgrade", "--version", "3.7", "--skip-backup"},
		"json":      {"plan", "scale", "my-db", "--members", "5", "-o", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			b.Golden("plan_"+name, b.Run(args...))
		})
	}
	if len(b.Writes) > 0 {
		t.Errorf("wrote %v", b.Writes)
	}
}

// TestPlanFormats: the wide form adds the reasons, the short one is the steps'
// names, and a plan of a plan is no plan.
func TestPlanFormats(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := b.Run("plan", "upgrade", "--version", "3.6", "-o", "wide"); r.Code != exit.Done ||
		!strings.Contains(r.Out, "ACTION") ||
		!strings.Contains(r.Out, "REASON") || !strings.Contains(r.Out, "the leader restarts last") {
		t.Errorf("wide: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	r := b.Run("plan", "upgrade", "--version", "3.6", "-o", "name")
	if r.Code != exit.Done || !strings.HasPrefix(r.Out, "step/backup/my-db-") {
		t.Errorf("name: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("plan", "upgrade", "--version", "3.6", "--dry-run=client"); r.Code != exit.Usage || len(b.Writes) > 0 {
		t.Errorf("--dry-run: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("upgrade", "--version", "3.6", "--dry-run", "-o", "wide"); r.Code != exit.Done ||
		!strings.Contains(r.Err, "REASON") {
		t.Errorf("a dry run: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

func TestPlanDowngrade(t *testing.T) {
	b := clitest.New(t)
	b.Must("create", "my-db", "--engine", "fakedb", "--version", "3.6", "--progress", "none")
	b.Golden("plan_downgrade", b.Run("plan", "downgrade", "--version", "3.5"))
	if r := b.Run("downgrade", "my-db", "--version", "3.4"); r.Code != exit.Refused ||
		!strings.Contains(r.Err, "nothing goes back to 3.4") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

func TestMachineOutputIsValid(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	id := b.Backup("my-db")
	b.Must("backup", "my-db", "--progress", "none")
	for _, args := range [][]string{
		{"list"}, {"status"}, {"history"}, {"engines"}, {"version"}, {"version", "--client"}, {"backup", "list"},
		{"backup", "describe", id},
		{"plan", "scale", "--members", "5"}, {"scale", "--members", "5", "--dry-run=client"}, {"scale", "--members", "5"},
		{"scale", "--members", "5"},
		{"backup", "my-db", "--verify"}, {"upgrade", "--version", "3.6"}, {"resume"}, {"delete", "my-db", "--yes"},
	} {
		r := b.Run(append(args, "-o", "json", "--color=always")...)
		if r.Code != exit.Done || !json.Valid([]byte(r.Out)) || strings.Contains(r.Out, "\x1b") {
			t.Errorf("%v: exit %d\nstdout: %s\nstderr: %s", args, r.Code, r.Out, r.Err)
		}
		if !strings.Contains(r.Out, `"apiVersion": "dbop.dev/v1alpha1"`) || !strings.Contains(r.Out, `"kind": `) {
			t.Errorf("%v has no version or kind: %s", args, r.Out)
		}
		if strings.Contains(r.Err, "next:") {
			t.Errorf("%v gives advice although -o is set: %s", args, r.Err)
		}
	}
}

func TestUnknownFormatIsRefusedBeforeAnyWrite(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	for _, args := range dryRuns("my-db-20261120T120000Z-0a1b") {
		r := b.Run(append(args, "-o", "xml", "--yes")...)
		if len(args) > 0 && strings.Contains(r.Err, "unknown flag: --yes") {
			r = b.Run(append(args, "-o", "xml")...)
		}
		if r.Code != exit.Usage || !strings.Contains(r.Err, "choose one of") || !strings.Contains(r.Err, "json") {
			t.Errorf("%v: exit %d, %s", args, r.Code, r.Err)
		}
	}
	if len(b.Writes) > 0 {
		t.Errorf("wrote %v", b.Writes)
	}
}
