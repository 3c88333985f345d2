package runner

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// problems are all that can keep a pod or a volume from working.
var problems = []observe.ProblemKind{observe.ProblemImage, observe.ProblemUnschedulable, observe.ProblemVolume,
	observe.ProblemGrowth, observe.ProblemCrashing,
	observe.ProblemOOM, observe.ProblemDisk, observe.ProblemConfig, observe.ProblemForbidden, observe.ProblemNode}

// cameToHalt is an operation on a cluster that came to a halt because of a problem.
func cameToHalt(verb v1alpha1.Verb, formed, custom bool, problem observe.ProblemKind) ops.State {
	s := opstest.Well(3)
	s.Operation = underWay(verb)
	s.Operation.Spec.Settings, s.Operation.Spec.FromSettings = v1alpha1.SettingsOf(&s.Cluster.Spec),
		v1alpha1.SettingsOf(&s.Cluster.Spec)
	s.Operation.Spec.Members, s.Operation.Spec.FromMembers = 3, 3
	s.Operation.Spec.Version, s.Operation.Spec.FromVersion = s.Cluster.Spec.Version, s.Cluster.Spec.Version
	s.Operation.ResourceVersion, s.Operation.Status.Phase = "1", v1alpha1.PhasePaused
	s.Operation.Status.StartedAt = ops.Stamp(s.Now.Add(-time.Hour))
	if !formed {
		s.Cluster.Status.Bootstrap.ClusterID = ""
		s.View.ClusterIDs, s.View.MemberList, s.View.Quorum = nil, nil, false
	}
	if custom {
		s.Cluster.Annotations = map[string]string{v1alpha1.AnnotationCustom: "uid"}
	}
	for _, m := range []string{"db-1", "db-2", "db-3"} {
		if !formed || m == "db-3" {
			opstest.Down(&s, m, problem, time.Hour)
		}
	}
	return s
}

// TestNoAdviceIsRefused: each command that is suggested while an operation came
// to a halt is carried out.
func TestNoAdviceIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb   v1alpha1.Verb
		formed bool
	}{
		{v1alpha1.VerbCreate, false}, {v1alpha1.VerbRestore, false}, {v1alpha1.VerbCreate, true},
		{v1alpha1.VerbScale, true}, {v1alpha1.VerbUpgrade, true}, {v1alpha1.VerbResize, true}, {v1alpha1.VerbRestart, true},
		{v1alpha1.VerbDelete, true},
	} {
		for _, custom := range []bool{false, true} {
			for _, problem := range problems {
				name := fmt.Sprintf("%s, formed %t, custom %t, %s", c.verb, c.formed, custom, problem)
				s := cameToHalt(c.verb, c.formed, custom, problem)
				onShelf(t, func(sh *shelf, r *Runner) {
					sh.cluster = s.Cluster.DeepCopy()
					r.Cluster = func(string, string) ops.ClosableCluster { return shelved{newIdeal(planner.Clone(s)), sh} }
					for from, text := range suggested(r, sh, s) {
						follow(t, name+", "+from, text, r, sh, s)
					}
				})
			}
		}
	}
}

// suggested is all that says what to type.
func suggested(r *Runner, sh *shelf, s ops.State) map[string]string {
	sh.operations = []*v1alpha1.Operation{s.Operation.DeepCopy()}
	hint := func(err error) string { return ops.Refusal(err).Hint }
	out := map[string]string{
		"stuck":  planner.For(opstest.Stub{}, s).Stuck("db-3", *s.Kube.Member("db-3").Pod.Problem).Hint,
		"status": strings.Join(health.Assess(opstest.Stub{}, s, planner.Verbs()).Next, "; "),
	}
	for i, f := range health.Diagnose(opstest.Stub{}, s, planner.Verbs()).Findings {
		out[fmt.Sprintf("finding %d", i)] = strings.Join(f.Remedy, "; ")
	}
	if _, err := r.Prepare(context.Background(), "shop", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
		Verb: v1alpha1.VerbCompact}}); err != nil {
		out["another command"] = hint(err)
	}
	if _, err := r.PrepareResume(context.Background(), "shop", "db", true); err != nil {
		out["cancel"] = hint(err)
	}
	if _, err := planner.Undo(s.Cluster, []v1alpha1.Operation{*s.Operation}); err != nil {
		out["undo"] = hint(err)
	}
	return out
}

// follow types each command of a text, one after another.
func follow(t *testing.T, name, text string, r *Runner, sh *shelf, s ops.State) {
	t.Helper()
	custom, over := s.Cluster.Annotations[v1alpha1.AnnotationCustom] != "", false
	for _, at := range ops.Programs.FindAllStringIndex(text, -1) {
		c := ops.Command{Ours: strings.Contains(text[at[0]:at[1]], "dbop"), Args: ops.CommandWords(text[at[1]:])}
		sh.operations = []*v1alpha1.Operation{s.Operation.DeepCopy()}
		var err error
		verb := c.Word(0)
		if verb == "member" {
			verb = c.Word(1) + "-member"
		}
		switch {
		case !c.Ours && verb == "delete":
			if over = true; !custom || c.Word(1) != "dbc" {
				t.Errorf("%s: %q deletes what is not there", name, text)
			}
		case !c.Ours, over:
		case verb == "cancel":
			_, err = r.PrepareResume(context.Background(), "shop", "db", true)
			over = true
		case verb == "resume":
			_, err = r.PrepareResume(context.Background(), "shop", "db", false)
			over = true
		case verb == "delete" && custom:
			t.Errorf("%s: %q is refused under a custom resource", name, text)
		case verb == "status", verb == "logs", verb == "diagnose", verb == "engines", verb == "backup" &&
			c.Word(1) == "list":
		default:
			over = verb == "delete"
			p := &planner.Prepared{Request: planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
				Verb: v1alpha1.Verb(verb)}}}
			if p.Meet(ops.Flight{Ordinary: s.Operation}) != nil {
				t.Errorf("%s: %s of %q meets %s", name, verb, text, s.Operation.Spec.Verb)
			}
		}
		if k := ops.KindOf(err); err != nil && (k == ops.Refused || k == ops.Busy) {
			t.Errorf("%s: %q of %q: %v", name, c.Args, text, err)
		}
	}
}

// TestCancelRefusedWritesNothing: the record and what is wanted of the cluster are as before, so that the command that
// began the operation, typed again, finishes it.
func TestCancelRefusedWritesNothing(t *testing.T) {
	t.Parallel()
	onShelf(t, func(sh *shelf, r *Runner) {
		r.Decide = func(e engine.Engine, s ops.State) ops.Decision {
			if s.Cancelling() {
				return ops.Decision{Blocked: &ops.Error{Kind: ops.Refused, Message: "the later version has written"}}
			}
			return planner.Decide(e, s)
		}
		op := opstest.Operation(v1alpha1.VerbScale)
		op.Spec.Members, op.Spec.FromMembers, op.Status.Phase = 5, 3, v1alpha1.PhasePaused
		sh.operations = append(sh.operations, op)
		sh.cluster.Spec.Members = 5
		sh.cluster.Spec.Paused = true
		b, _ := delegating(sh, r, true)
		for name, resume := range map[string]func(context.Context, string, string, bool) (*v1alpha1.Operation, error){
			"alone": r.Resume, "with an operator": b.Resume,
			"by a custom resource": func(ctx context.Context, ns, name string, back bool) (*v1alpha1.Operation, error) {
				_, err := r.Open(ctx, ns, name, nil, func(*v1alpha1.Operation) (bool, error) { return back, nil })
				return nil, err
			},
		} {
			_, err := resume(context.Background(), "shop", "db", true)
			if ops.KindOf(err) != ops.Refused || !strings.Contains(err.Error(), "has written") {
				t.Errorf("%s: %v", name, err)
			}
			if sh.version > 0 {
				t.Errorf("%s: %d writes, %d members, %s", name, sh.version, sh.cluster.Spec.Members,
					sh.operations[0].Status.Phase)
			}
		}
		got, err := r.Resume(context.Background(), "shop", "db", false)
		if err != nil || got.Status.Phase != v1alpha1.PhaseSucceeded {
			t.Errorf("it can't be finished: %v", err)
		}
	})
}
