package cli

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// TestScreens holds what people see, word for word.
func TestScreens(t *testing.T) {
	b := newBench(t)
	b.golden("list_empty", b.run("list"))
	b.golden("list_empty_all", b.run("list", "-A"))
	b.cluster("my-db")
	id := b.backup("my-db")
	b.addPods("my-db", "my-db-1", "my-db-2")
	record(t, b)
	for name, args := range map[string][]string{
		"list": {"list"}, "list_all": {"list", "-A"}, "list_wide": {"list", "-o", "wide"}, "list_name": {"list", "-o", "name"},
		"status": {"status"}, "status_wide": {"status", "my-db", "-o", "wide"}, "status_json": {"status", "-o", "json"},
		"backup_list": {"backup", "list"}, "backup_list_wide": {"backup", "list", "my-db", "-o", "wide"}, "backup_describe": {"backup", "describe", id},
		"backup_list_none": {"backup", "list", "other"},
		"history":          {"history"}, "history_wide": {"history", "-o", "wide"}, "history_all": {"history", "-A"}, "history_json": {"history", "my-db", "-o", "json"}, "history_describe": {"history", "describe", "my-db.dbop-op-00001"},
		"engines": {"engines"}, "engines_wide": {"engines", "-o", "wide"}, "version": {"version"}, "not_found": {"status", "nope"},
		"usage": {"create", "my-db"}, "help": {"--help"},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.golden(name, b.run(args...))
		})
	}
	b.t = t
	b.golden("name_only", b.run("backup", "my-db", "-o", "name", "--progress", "none"))
}

// record writes one finished operation of fixed times.
func record(t *testing.T, b *bench) {
	t.Helper()
	store := b.store(kube.DryRunNone)
	all, err := store.ListOperations(t.Context(), "shop", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name = o.Namespace, o.Name
		if err := b.api.Delete(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	end := metav1.NewTime(noon.Add(-time.Hour + 90*time.Second))
	o := &v1alpha1.Operation{}
	o.Namespace, o.Name = "shop", "my-db.dbop-op-00001"
	o.Spec = v1alpha1.OperationSpec{Cluster: "my-db", Verb: v1alpha1.VerbScale, Members: 3, FromMembers: 1, RequestedBy: "ada", RequestedFrom: "laptop", Command: "kubectl dbop scale my-db --members 3"}
	o.Status = v1alpha1.OperationStatus{Phase: v1alpha1.PhaseSucceeded, StartedAt: metav1.NewTime(noon.Add(-time.Hour)), FinishedAt: &end,
		Journal: []v1alpha1.JournalEntry{{Step: "register-member/my-db-2", Title: "Register my-db-2 as a learner", StartedAt: metav1.NewTime(noon.Add(-time.Hour)), FinishedAt: &end}}}
	if err := store.CreateOperation(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func TestStatusTellsByExitCode(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	if r := b.run("status"); r.code != ExitDone || !strings.HasPrefix(r.out, "HEALTHY") {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
	b.world.facts.Foreign = []string{"service/my-db"}
	if r := b.run("status"); r.code != ExitDegraded || !strings.HasPrefix(r.out, "DEGRADED") {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
	b.world.facts = kube.Facts{}
	b.world.view.Quorum = false
	if r := b.run("status"); r.code != ExitDown || !strings.HasPrefix(r.out, "DOWN") {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
}

func TestNameMayBeLeftOutForOneCluster(t *testing.T) {
	b := newBench(t)
	if r := b.run("status"); r.code != ExitNotFound || !strings.Contains(r.err, "no cluster in namespace shop") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	b.cluster("one")
	if r := b.run("upgrade", "--version", "3.6", "--progress", "none"); r.code != ExitDone || r.out != "fakedb/one upgraded to 3.6.2\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.must("create", "two", "--engine", "fakedb", "--progress", "none")
	if r := b.run("upgrade", "--version", "3.6"); r.code != ExitUsage || !strings.Contains(r.err, "one, two") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

func TestLogsAreMergedByTime(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.addPods("my-db", "my-db-1", "my-db-10")
	b.logs = map[string]string{
		"my-db-1-0":  "2026-11-21T10:00:01Z one\n2026-11-21T10:00:03Z three\n",
		"my-db-10-0": "2026-11-21T10:00:02Z two\n",
	}
	want := "my-db-1  | one\nmy-db-10 | two\nmy-db-1  | three\n"
	if r := b.run("logs", "my-db"); r.out != want {
		t.Errorf("%s%s", r.out, r.err)
	}
}
