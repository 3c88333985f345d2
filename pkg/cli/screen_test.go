package cli_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
)

// TestScreens holds what people see, word for word.
func TestScreens(t *testing.T) {
	b := clitest.New(t)
	b.Golden("list_empty", b.Run("list"))
	b.Golden("list_empty_all", b.Run("list", "-A"))
	b.CreateCluster("my-db")
	id := b.Backup("my-db")
	b.AddPods("my-db", "my-db-1", "my-db-2")
	record(t, b)
	for name, args := range map[string][]string{
		"list": {"list"}, "list_all": {"list", "-A"}, "list_wide": {"list", "-o", "wide"},
		"list_name": {"list", "-o", "name"},
		"status":    {"status"}, "status_wide": {"status", "my-db", "-o", "wide"}, "status_json": {"status", "-o", "json"},
		"backup_list": {"backup", "list"}, "backup_list_wide": {"backup", "list", "my-db", "-o", "wide"},
		"backup_describe":  {"backup", "describe", id},
		"backup_list_none": {"backup", "list", "other"},
		"history":          {"history"}, "history_wide": {"history", "-o", "wide"}, "history_all": {"history", "-A"},
		"history_json":     {"history", "my-db", "-o", "json"},
		"history_describe": {"history", "describe", "my-db.dbop-op-00001"},
		"engines":          {"engines"}, "engines_wide": {"engines", "-o", "wide"}, "version": {"version"},
		"not_found": {"status", "nope"},
		"usage":     {"create", "my-db"}, "help": {"--help"},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			b.Golden(name, b.Run(args...))
		})
	}
	b.T = t
	b.Golden("name_only", b.Run("backup", "my-db", "-o", "name", "--progress", "none"))
}

// record writes one finished operation of fixed times.
func record(t *testing.T, b *clitest.Bench) {
	t.Helper()
	store := b.Records(kube.DryRunNone)
	all, err := store.ListOperations(t.Context(), "shop", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name = o.Namespace, o.Name
		if err := b.API.Delete(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	end := metav1.NewTime(clitest.Noon.Add(-time.Hour + 90*time.Second))
	o := &v1alpha1.Operation{}
	o.Namespace, o.Name = "shop", "my-db.dbop-op-00001"
	o.Spec = v1alpha1.OperationSpec{Cluster: "my-db", Verb: v1alpha1.VerbScale,
		SizeParameters: v1alpha1.SizeParameters{Members: 3, FromMembers: 1},
		RequestedBy:    "ada", RequestedFrom: "laptop", Command: "kubectl dbop scale my-db --members 3"}
	o.Status = v1alpha1.OperationStatus{Phase: v1alpha1.PhaseSucceeded,
		StartedAt: metav1.NewTime(clitest.Noon.Add(-time.Hour)), FinishedAt: &end,
		Journal: []v1alpha1.JournalEntry{
			{Step: "register-member/my-db-2", Title: "Register my-db-2 as a learner",
				StartedAt: metav1.NewTime(clitest.Noon.Add(-time.Hour)), FinishedAt: &end}}}
	if err := store.CreateOperation(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func TestStatusTellsByExitCode(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := b.Run("status"); r.Code != exit.Done || !strings.HasPrefix(r.Out, "HEALTHY") {
		t.Errorf("exit %d\n%s", r.Code, r.Out)
	}
	b.Cluster.Facts.Foreign = []string{"service/my-db"}
	if r := b.Run("status"); r.Code != exit.Degraded || !strings.HasPrefix(r.Out, "DEGRADED") {
		t.Errorf("exit %d\n%s", r.Code, r.Out)
	}
	b.Cluster.Facts = observe.Facts{}
	b.Cluster.View.Quorum = false
	if r := b.Run("status"); r.Code != exit.Down || !strings.HasPrefix(r.Out, "DOWN") {
		t.Errorf("exit %d\n%s", r.Code, r.Out)
	}
}

func TestNameMayBeLeftOutForOneCluster(t *testing.T) {
	b := clitest.New(t)
	if r := b.Run("status"); r.Code != exit.NotFound || !strings.Contains(r.Err, "no cluster in namespace shop") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
	b.CreateCluster("one")
	if r := b.Run("upgrade", "--version", "3.6", "--progress", "none"); r.Code != exit.Done ||
		r.Out != "fakedb/one upgraded to 3.6.2\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	b.Must("create", "two", "--engine", "fakedb", "--progress", "none")
	if r := b.Run("upgrade", "--version", "3.6"); r.Code != exit.Usage || !strings.Contains(r.Err, "one, two") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
}

func TestLogsAreMergedByTime(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.AddPods("my-db", "my-db-1", "my-db-10")
	b.LogTexts = map[string]string{
		"my-db-1-0":  "2026-11-21T10:00:01Z one\n2026-11-21T10:00:03Z three\n",
		"my-db-10-0": "2026-11-21T10:00:02Z two\n",
	}
	want := "my-db-1  | one\nmy-db-10 | two\nmy-db-1  | three\n"
	if r := b.Run("logs", "my-db"); r.Out != want {
		t.Errorf("%s%s", r.Out, r.Err)
	}
}

// TestTitlesHoldNoSpaces: every table can be cut into columns by a program.
func TestTitlesHoldNoSpaces(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Backup("my-db")
	b.AddPods("my-db", "my-db-1")
	for _, args := range [][]string{{"list", "-A"}, {"history", "-A"}, {"backup", "list"}, {"status"}, {"engines"}} {
		head, _, _ := strings.Cut(b.Run(append(args, "-o", "wide")...).Out, "\n")
		if args[0] == "status" {
			head = strings.Split(b.Run("status", "-o", "wide").Out, "\n")[2]
		}
		titles := strings.Split(head, "   ")
		for _, title := range titles {
			if title = strings.TrimSpace(title); title != strings.ToUpper(title) || strings.Contains(title, " ") {
				t.Errorf("%v: title %q", args, title)
			}
		}
		if first := titles[0]; first != "NAME" && first != "NAMESPACE" && first != "MEMBER" {
			t.Errorf("%v: the first column is %q", args, first)
		}
	}
}
