// Package plans holds, for each verb, the plan of a request to an etcd cluster, or to another where etcd has no such
// thing: what is resolved, wanted and done.
package plans

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

var update = flag.Bool("update", false, "write the goldens again")

// running is a healthy etcd cluster at rest.
func running(members int) ops.State {
	s := opstest.Certified(members)
	return dressed(s)
}

// dressed gives a state what the rules of etcd ask for.
func dressed(s ops.State) ops.State {
	s.Cluster.ResourceVersion = "1"
	s.Cluster.Spec.Engine, s.Cluster.Spec.Version = "etcd", "3.5.35"
	s.Cluster.Spec.Storage.Size = resource.MustParse("1Gi")
	e := etcd.New()
	digest := rules.Settings(s, e)
	leader, _ := s.View.Leader()
	for i := range s.View.Members {
		m := &s.View.Members[i]
		m.Version, m.Protocol, m.Leader, m.Auth, m.Position = "3.5.35", "3.5", leader.ID, engine.AuthOff, "1000/1000"
		m.DataBytes, m.UsedBytes, m.QuotaBytes = 1<<20, 1<<20, 2<<30
	}
	for i := range s.Kube.Members {
		m := &s.Kube.Members[i]
		m.Volume.UID, m.Workload.UID, m.Pod.UID = "volume-"+m.Name, "workload-"+m.Name, "pod-"+m.Name
		m.Volume.Size, m.Volume.Capacity = s.Cluster.Spec.Storage.Size, s.Cluster.Spec.Storage.Size
		m.Workload.Version, m.Pod.Version, m.Workload.Settings, m.Pod.Settings = "3.5.35", "3.5.35", digest, digest
	}
	return s
}

// at has every member run a version.
func at(s *ops.State, version, protocol string) {
	s.Cluster.Spec.Version = version
	for i := range s.View.Members {
		s.View.Members[i].Version, s.View.Members[i].Protocol = version, protocol
		if protocol != "3.5" {
			s.View.Members[i].Schema = protocol
		}
		m := &s.Kube.Members[i]
		m.Workload.Version, m.Pod.Version = version, version
	}
	digest := rules.Settings(*s, etcd.New())
	for i := range s.Kube.Members {
		m := &s.Kube.Members[i]
		m.Workload.Settings, m.Pod.Settings = digest, digest
	}
}

// replicated is a healthy PostgreSQL cluster at rest.
func replicated(members int) ops.State {
	s := running(members)
	s.Cluster.Spec.Engine = postgres.Name
	at(&s, "15.20", "")
	digest := rules.Settings(s, postgres.New())
	for i := range s.View.Members {
		s.View.Members[i].Position, s.View.Members[i].Auth = "", engine.AuthOn
		m := &s.Kube.Members[i]
		m.Workload.Settings, m.Pod.Settings = digest, digest
	}
	return s
}

// founding is a cluster that is to be.
func founding(members int) ops.State {
	s := opstest.Wanted(members)
	s.Cluster.Spec.Engine, s.Cluster.Spec.Version = "etcd", "3.5.35"
	return s
}

// request is one row: a state at rest, and what is asked of it.
type request struct {
	name  string
	state ops.State
	ask   v1alpha1.OperationSpec
	// engine is etcd if nil.
	engine engine.Engine
	// record changes the record, for an operation in flight.
	record func(*v1alpha1.Operation)
}

func with(s ops.State, change func(*ops.State)) ops.State {
	change(&s)
	return s
}

func lost(names ...string) func(*ops.State) {
	return func(s *ops.State) {
		for _, name := range names {
			opstest.Vanish(s, name)
		}
		if len(names) > 1 {
			opstest.NoQuorum(s)
		}
	}
}

func cancelling(op *v1alpha1.Operation) {
	op.Status.Phase = v1alpha1.PhaseCancelling
	op.Status.Journal = []v1alpha1.JournalEntry{{Step: "before"}}
}

func users(s *ops.State) {
	s.Cluster.Spec.Auth = v1alpha1.Auth{Enabled: true, Users: []v1alpha1.DatabaseUser{{Name: "app", Prefix: "/app"}}}
	for i := range s.View.Members {
		s.View.Members[i].Auth = engine.AuthOn
	}
}

func alarmed(s *ops.State) {
	opstest.Alarm(s, "NOSPACE", engine.CauseSpace, "db-2")
	for i := range s.View.Members {
		s.View.Members[i].DataBytes, s.View.Members[i].UsedBytes = 2<<30, 1<<20
	}
}

func corrupt(s *ops.State) { opstest.Alarm(s, "CORRUPT", engine.CauseDamage, "db-3") }

// TestPlans takes each request the way that the runner takes it: what is left open is filled in, checked, pinned and
// wanted, and then planned.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, r := range requests() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			compare(t, r.name, planned(t, r))
		})
	}
}

func planned(t *testing.T, r request) string {
	t.Helper()
	var e engine.Engine = etcd.New()
	if r.engine != nil {
		e = r.engine
	}
	var out strings.Builder
	s, o := r.state, r.ask
	o.Cluster, o.Backup, o.Repository = "db", "b1", "pvc:backups"
	req := planner.Request{Operation: o}
	if !s.Formed() {
		req.Cluster = s.Cluster.DeepCopy()
	}
	planner.Default(&req.Operation, s.Cluster)
	if err := planner.Check(e, req, s.Cluster); err != nil {
		fmt.Fprintf(&out, "refused: %v\nhint: %s\n", err, ops.Refusal(err).Hint)
		return out.String()
	}
	s.Operation = nil
	if err := planner.Resolve(e, &req.Operation, s); err != nil {
		fmt.Fprintf(&out, "refused: %v\nhint: %s\n", err, ops.Refusal(err).Hint)
		return out.String()
	}
	p := planner.Prepared{Request: req, State: s}
	op := p.Record("shop")
	op.Name = "db.op"
	if r.record != nil {
		op.ResourceVersion = "1"
		r.record(op)
	}
	s.Operation = op.DeepCopy()
	planner.ApplyTo(s.Cluster, op)
	plan := planner.MakePlan(e, s)
	for i, step := range plan.Steps {
		margin := ""
		if step.Tolerates != nil {
			margin = strconv.Itoa(*step.Tolerates)
		}
		fmt.Fprintf(&out,
			"%2d %s [%s] %s risk=%s to=%s leader=%s margin=%s deadline=%s\n   %s\n   because %s\n   touches %s\n",
			i+1, step.ID,
			step.Action,
			strings.Join(step.Members, ","), step.Risk, step.To, step.Leader, margin, step.Deadline.Round(time.Second),
			step.Title, step.Reason, strings.Join(step.Touches, " "))
	}
	if b := plan.Blocked; b != nil {
		fmt.Fprintf(&out, "blocked: %s %s: %s\nhint: %s\n", b.Kind, b.Check, b.Message, b.Hint)
	}
	fmt.Fprintf(&out, "restarts %v\nleader moves %v\nirreversible %q\nkept %v\n", plan.Restarts, plan.LeaderMoves,
		plan.Irreversible, plan.Kept)
	for title, v := range map[string]any{"cancel": errorText(planner.Verbs().Cancellable(op))} {
		fmt.Fprintf(&out, "%s: %v\n", title, v)
	}
	spec, err := json.MarshalIndent(s.Cluster.Spec, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "wanted: %s\n", spec)
	fmt.Fprint(&out, undone(s, op))
	return out.String()
}

// undone is the way back once the operation has come to its end.
func undone(s ops.State, op *v1alpha1.Operation) string {
	done := op.DeepCopy()
	done.Status.Phase = v1alpha1.PhaseSucceeded
	done.Status.Journal = append(done.Status.Journal, v1alpha1.JournalEntry{Step: "register-member/db-9"})
	u, err := planner.Undo(s.Cluster, []v1alpha1.Operation{*done})
	if err != nil {
		return fmt.Sprintf("undo: %v; %s\n", err, ops.Refusal(err).Hint)
	}
	text, _ := json.Marshal(u.Operation)
	kept := ""
	if len(u.Kept) > 0 {
		kept = fmt.Sprintf("kept %q\n", u.Kept)
	}
	return fmt.Sprintf("undo: %s\nlost %q\n%sstays %q\nasks %s\n", u.Title, u.Lost, kept, u.Stays, text)
}

func errorText(err error) string {
	if err == nil {
		return "yes"
	}
	return err.Error()
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the plan differs from %s (-was +is):\n%s", path, diff)
	}
}
