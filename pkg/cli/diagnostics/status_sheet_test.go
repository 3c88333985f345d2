package diagnostics

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestStatusTellsDrift: members that another version rendered are named with
// what changes that, but not while an operation is about to.
func TestStatusTellsDrift(t *testing.T) {
	t.Parallel()
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Spec.Version = "my-db", "1.0.0"
	s := ops.State{Cluster: c, Rendering: "new", Kube: observe.Facts{Members: []observe.Member{
		{Name: "my-db-1", Workload: observe.Workload{Exists: true, Version: "1.0.0", Rendering: "old"}},
		{Name: "my-db-2", Workload: observe.Workload{Exists: true, Version: "1.0.0", Rendering: "new"}}}}}
	says := func() bool {
		var out bytes.Buffer
		if err := newStatusSheet(opstest.Engine{}, s).print(&out, printer.Palette{}, time.Now(),
			printer.NewTables()); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(out.String(),
			"Rendered otherwise:     my-db-1; kubectl dbop restart my-db renders them as this version does\n")
	}
	if !says() {
		t.Error("it is not told")
	}
	s.Operation = &v1alpha1.Operation{}
	if says() {
		t.Error("it is told of a cluster that is changing")
	}
}

// agents is an engine whose members run agents.
type agents struct{ opstest.Engine }

func (agents) Capabilities() engine.Capabilities { return engine.Capabilities{Agent: true} }

// TestStatusTellsAgents: which image agents come from is told where it is not the wanted one, and of all when asked.
func TestStatusTellsAgents(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	s.Cluster.Spec.HelperImage = "tool:2"
	says := func() string {
		var out bytes.Buffer
		if err := newStatusSheet(agents{}, s).print(&out, printer.Palette{}, time.Now(),
			printer.NewTables()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for i, image := range []string{"tool:1", "tool:2", "tool:1"} {
		s.Kube.Members[i].Pod.AgentImage = image
	}
	want := "\nAgents:                 db-1, db-3: tool:1; wanted is tool:2\n                        db-2: tool:2\n"
	if got := says(); !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
	s.Kube.Members[0].Pod.AgentImage, s.Kube.Members[2].Pod.AgentImage = "tool:2", "tool:2"
	if got := says(); strings.Contains(got, "tool:2") {
		t.Errorf("what is as wanted is told:\n%s", got)
	}
}

// archiver is an engine whose log is archived.
type archiver struct {
	opstest.Engine
	engine.LogArchiver

	interval string
}

func (archiver) ArchiveRepository(v1alpha1.DatabaseClusterSpec) string { return "offsite" }

func (a archiver) ArchiveInterval(v1alpha1.DatabaseClusterSpec) string { return a.interval }

// TestStatusTellsArchive: what the loss of all volumes takes along is told where the log is archived.
func TestStatusTellsArchive(t *testing.T) {
	t.Parallel()
	for interval, want := range map[string]string{
		"60s": "\nArchived log:           in offsite; the loss of all volumes loses what was committed in the last 60s, " +
			"and the files that wait (UNARCHIVED)\n",
		"": "committed since the last file was full, and",
	} {
		var out bytes.Buffer
		if err := newStatusSheet(archiver{interval: interval}, opstest.Well(1)).print(&out, printer.Palette{}, time.Now(),
			printer.NewTables()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	s := opstest.Well(2)
	at := time.Date(2026, 11, 28, 21, 34, 7, 9, time.UTC)
	for i := range s.View.Members {
		s.View.Members[i].ArchivedUntil = at.Add(time.Duration(i) * time.Hour) // the first one leads
	}
	sheet := newStatusSheet(archiver{}, s)
	if want := "in offsite, with what was committed until 2026-11-28 21:34:07 UTC; the loss"; !strings.HasPrefix(
		sheet.Archive.text(), want) || !sheet.Archive.Until.Equal(at.Truncate(time.Second)) {
		t.Errorf("it says %q until %s", sheet.Archive.text(), sheet.Archive.Until)
	}
	if sheet := newStatusSheet(opstest.Engine{}, opstest.Well(1)); sheet.Archive != nil {
		t.Errorf("of an engine without a log it tells %+v", sheet.Archive)
	}
}

// TestStatusTellsRestorable: the newest moment that a restore gives back, how old that is, and why.
func TestStatusTellsRestorable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	s := opstest.Well(1)
	s.Cluster.Status.LastBackup = &v1alpha1.BackupReference{ID: "b1", Repository: "offsite",
		Time: metav1.NewTime(now.Add(-time.Hour))}
	var out bytes.Buffer
	if err := newStatusSheet(opstest.Engine{}, s).print(&out, printer.Palette{}, now, printer.NewTables()); err != nil {
		t.Fatal(err)
	}
	want := "\nRestorable until:       2026-11-29 11:00:00 UTC, 60m ago, as the newest backup has it; no " +
		"proof of it is known\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, out.String())
	}
}

// TestStatusTellsWarnings: what members warn of is in no verdict, and is shown.
func TestStatusTellsWarnings(t *testing.T) {
	t.Parallel()
	s := opstest.Well(2)
	s.View.Members[0].Warnings = []string{"the log waits"}
	s.View.Members[0].Overridden = []string{"cost", "depth"}
	s.View.Members[1].Warnings = []string{"it is full", "it is slow"}
	var out bytes.Buffer
	if err := newStatusSheet(opstest.Engine{}, s).print(&out, printer.Palette{}, time.Now(),
		printer.NewTables()); err != nil {
		t.Fatal(err)
	}
	if want := "\nWarnings:               db-1: somebody set cost, depth on this member alone, past the options of the " +
		"cluster: another member that leads would not have it; kubectl dbop repair db takes it back\n" +
		"                        db-1: the log waits\n                        db-2: it is full\n" +
		"                        db-2: it is slow\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, out.String())
	}
}

// TestStatusTellsDisks: what counts is how full the disk is, not what the data takes of it, and without a server too.
func TestStatusTellsDisks(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	for i := range s.View.Members {
		m := &s.View.Members[i]
		s.Kube.Members[i].Volume.Capacity = resource.MustParse("236Mi")
		m.DataBytes, m.Disk = 115<<20, engine.Disk{Used: 236 << 20, Total: 236 << 20}
	}
	s.View.Members[1].DataBytes, s.View.Members[1].Disk.Used = 0, 59<<20
	s.View.Members[2].Disk = engine.Disk{} // an agent of before
	s.View.Members[2].Readings = []engine.Reading{{Name: "sync", Value: "yes"}}
	var out bytes.Buffer
	if err := newStatusSheet(opstest.Engine{}, s).print(&out, printer.Palette{}, time.Now(),
		printer.NewTables()); err != nil {
		t.Fatal(err)
	}
	rows := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"DB-SIZE OF-VOLUME SYNC", "115MiB 100%", " 0 <none> 25% <none>", "115MiB 48% yes",
		"the disk of db-1 is 100% full (236 of 236 MiB)", "Next: kubectl dbop resize db --storage SIZE"} {
		if !strings.Contains(rows, want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// TestStatusWithoutRights: what Kubernetes says is shown of members that may not
// be asked, none of them counts as unreachable, and the exit code says that a right is missing.
func TestStatusWithoutRights(t *testing.T) {
	t.Parallel()
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Spec.Version, c.Spec.Members = "my-db", "1.0.0", 1
	s := ops.State{Cluster: c, Unasked: `user "ada" may not get secrets shop/my-db-admin-tls`,
		Kube: observe.Facts{Members: []observe.Member{
			{Name: "my-db-1", Workload: observe.Workload{Exists: true},
				Pod: observe.Pod{Exists: true, Running: true, Ready: true, Node: "n1"}}}}}
	sheet := newStatusSheet(opstest.Engine{}, s)
	var out bytes.Buffer
	if err := sheet.print(&out, printer.Palette{}, time.Now(), printer.NewTables()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"UNKNOWN", "1 of 1 pods are ready", `user "ada" may not get secrets`,
		"my-db-1   <unknown>", "n1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "unreachable") || sheet.Members[0].Health != "" {
		t.Errorf("it calls a member unreachable:\n%s", out.String())
	}
	if said := exit.Verdict(sheet.Verdict.Level); exit.Code(t.Context(), said) != exit.Forbidden {
		t.Errorf("exit code %v", said)
	}
}

func TestShareOfQuota(t *testing.T) {
	t.Parallel()
	if got := share(1<<30, 2<<30); got != "50%" {
		t.Errorf("half of it: %q", got)
	}
	if got := share(1<<30, 0); got != "" {
		t.Errorf("no quota: %q", got)
	}
}
