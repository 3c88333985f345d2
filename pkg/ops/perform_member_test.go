package ops

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// args of a member's template.
func (b *bench) args(member string) []string {
	b.t.Helper()
	w := &appsv1.StatefulSet{}
	if !b.exists(w, member) {
		b.t.Fatalf("no workload %s", member)
	}
	return w.Spec.Template.Spec.Containers[0].Args
}

func TestStartTellsMembersWhoTheirPeersAre(t *testing.T) {
	for name, c := range map[string]struct {
		id      string
		restore bool
		roster  []engine.Registered
		member  string
		want    []string
	}{
		"a founder":          {"", false, nil, "db-1", []string{"--name=db-1", "--peers=db-1,db-2", "--found"}},
		"a restored founder": {"", true, nil, "db-1", []string{"--name=db-1", "--peers=db-1,db-2"}},
		"a joiner":           {"id", false, []engine.Registered{{Name: "db-1"}, {Name: "db-3"}}, "db-3", []string{"--name=db-3", "--peers=db-1,db-3"}},
		"a joiner that the list lacks": {"id", false, []engine.Registered{{Name: "db-1"}}, "db-3",
			[]string{"--name=db-3", "--peers=db-1,db-3"}},
		"nobody answers": {"id", false, nil, "db-2", []string{"--name=db-2", "--peers=db-1,db-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			cluster := b.founded(2, c.id)
			if c.restore {
				cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "dir:/backups", Backup: "b1"}
			}
			b.must(b.client().EnsureCertificates(t.Context(), cluster))
			b.must(b.client().ApplyVolume(t.Context(), cluster, "db-1"))
			l := b.live()
			s := b.observe(l)
			s.Cluster, s.View.Roster = cluster, c.roster
			if _, err := l.Perform(t.Context(), s, Step{Action: ActionStart, Members: []string{c.member}}, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, b.args(c.member)); diff != "" {
				t.Errorf("args (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSealTakesTheFoundingWordsAway(t *testing.T) {
	b := newBench(t)
	b.founded(2, "id")
	b.running("db-1", "db-2")
	for _, m := range []string{"db-1", "db-2"} {
		edit(b, &appsv1.StatefulSet{}, m, func(w *appsv1.StatefulSet) {
			w.Annotations["dbop.dev/bootstrap"] = "true"
			w.Spec.Template.Spec.Containers[0].Args = append(w.Spec.Template.Spec.Containers[0].Args, "--found")
		})
	}
	_, err := b.perform(Step{Action: ActionSeal, Members: []string{"db-1", "db-2"}})
	b.must(err)
	s := b.observe(b.live())
	for _, m := range []string{"db-1", "db-2"} {
		if slices.Contains(b.args(m), "--found") || s.Kube.Member(m).Workload.Bootstrap {
			t.Errorf("%s may found still: %v", m, b.args(m))
		}
	}
	if _, err := b.perform(Step{Action: ActionSeal, Members: []string{"db-9"}}); !errors.Is(err, kube.ErrNotFound) || !strings.Contains(err.Error(), "db-9") {
		t.Errorf("no such workload: %v", err)
	}
}

// upgrading is a cluster whose second member is to run a newer version.
func upgradingBench(t *testing.T) *bench {
	b := newBench(t)
	b.founded(2, "id")
	b.running("db-1", "db-2")
	c := b.cluster()
	c.Spec.Version = "1.2.0"
	b.must(b.store().UpdateCluster(t.Context(), c))
	return b
}

func TestRenewalWaitsForTheWorkloadsController(t *testing.T) {
	for action, c := range map[Action]struct {
		change func(*v1alpha1.DatabaseCluster)
		done   func(renewed, other kube.Member) bool
	}{
		ActionRestart: {func(*v1alpha1.DatabaseCluster) {},
			func(renewed, other kube.Member) bool {
				return renewed.Pod.Rendering == renewed.Workload.Rendering && renewed.Workload.Rendering != other.Workload.Rendering
			}},
		ActionUpgrade: {func(c *v1alpha1.DatabaseCluster) { c.Spec.Version = "1.2.0" },
			func(renewed, other kube.Member) bool {
				return renewed.Pod.Version == "1.2.0" && other.Workload.Version == "1.1.0"
			}},
		ActionRoll: {func(c *v1alpha1.DatabaseCluster) { c.Spec.Config = map[string]string{"speed": "high"} },
			func(renewed, other kube.Member) bool {
				return renewed.Pod.Settings == renewed.Workload.Settings && renewed.Pod.Settings != other.Workload.Settings
			}},
	} {
		t.Run(string(action), func(t *testing.T) {
			b := newBench(t)
			b.founded(2, "id")
			b.running("db-1", "db-2")
			cluster := b.cluster()
			c.change(cluster)
			b.must(b.store().UpdateCluster(t.Context(), cluster))
			if action == ActionRestart {
				b.renderedElsewhere("db-1", "db-2")
				b.asksRestart("db-2")
			}
			b.server.lazy = true
			step := Step{Action: action, Members: []string{"db-2"}}
			for range 2 {
				if _, err := b.perform(step); !errors.Is(err, engine.ErrNotReady) {
					t.Fatalf("the controller has not seen it: %v", err)
				}
			}
			if !b.exists(&corev1.Pod{}, "db-2-0") {
				t.Fatal("the pod went too early, and would come back from the old template")
			}
			b.server.lazy = false
			_, err := b.perform(step)
			b.must(err)
			if b.exists(&corev1.Pod{}, "db-2-0") || !b.exists(&corev1.Pod{}, "db-1-0") {
				t.Error("not the one pod was restarted")
			}
			b.pod("db-2")
			_, err = b.perform(step)
			b.must(err)
			if s := b.observe(b.live()); !c.done(s.Kube.Member("db-2"), s.Kube.Member("db-1")) {
				t.Errorf("members %+v", s.Kube.Members)
			}
		})
	}
}

// TestRestartsSpareTheSuccessor: the pod that was looked at is gone and its
// workload made another.
func TestRestartsSpareTheSuccessor(t *testing.T) {
	for name, step := range map[string]Step{
		"upgrade": {Action: ActionUpgrade, Members: []string{"db-2"}},
		"roll":    {Action: ActionRoll, Members: []string{"db-2"}},
		"restart": {Action: ActionRestart, Members: []string{"db-2"}},
		"revive":  {Action: ActionRevive, Members: []string{"db-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := upgradingBench(t)
			l := b.live()
			s := b.observe(l)
			s.Operation = operation(v1alpha1.VerbRestart)
			s.Operation.Spec.Pods = map[string]string{"db-2": s.Kube.Member("db-2").Pod.UID}
			b.must(b.server.raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: object("db-2-0", nil)}))
			b.pod("db-2")
			if _, err := l.Perform(t.Context(), s, step, nil); err != nil {
				t.Fatal(err)
			}
			if !b.exists(&corev1.Pod{}, "db-2-0") {
				t.Error("the successor was restarted too")
			}
		})
	}
}

// ending are the steps that wait for what they told to go.
func TestEndingsWaitUntilGone(t *testing.T) {
	for name, c := range map[string]struct {
		action Action
		held   client.Object
		name   string
		// still are objects that must not be touched while it is held.
		still string
		want  string
	}{
		"stop waits for pods":             {ActionStop, &corev1.Pod{}, "db-2-0", "PersistentVolumeClaim/db-2", "db-2 is still going"},
		"stop waits for workloads":        {ActionStop, &appsv1.StatefulSet{}, "db-2", "PersistentVolumeClaim/db-2", "db-2 is still going"},
		"retire waits for the pod":        {ActionRetire, &corev1.Pod{}, "db-2-0", "PersistentVolumeClaim/db-2", "db-2 is still going"},
		"retire waits for the workload":   {ActionRetire, &appsv1.StatefulSet{}, "db-2", "Secret/db-2-tls", "db-2 is still going"},
		"retire waits for the volume":     {ActionRetire, &corev1.PersistentVolumeClaim{}, "db-2", "Secret/db-1-tls", "the volume of db-2 is still going"},
		"deletion waits for its volumes":  {ActionDeleteVolume, &corev1.PersistentVolumeClaim{}, "db-2", "Secret/db-2-tls", "the volume of db-2 is still going"},
		"deletion of what nothing holds":  {ActionDeleteVolume, nil, "", "Secret/db-2-tls", ""},
		"retirement that nothing holds":   {ActionRetire, nil, "", "Secret/db-1-tls", ""},
		"a stop of what is there no more": {ActionStop, nil, "", "PersistentVolumeClaim/db-2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.founded(2, "id")
			b.running("db-1", "db-2")
			if c.held != nil {
				held(b, c.held, c.name)
			}
			step := Step{Action: c.action, Members: []string{"db-2"}}
			var err error
			for range 4 {
				_, err = b.perform(step)
			}
			if c.held != nil {
				if !errors.Is(err, engine.ErrNotReady) || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("it is held: %v, want %q", err, c.want)
				}
				if !b.server.names(t)[c.still] {
					t.Errorf("%s is gone", c.still)
				}
				n := len(b.server.writes)
				_, _ = b.perform(step)
				if len(b.server.writes) > n {
					t.Errorf("what goes is told again: %v", b.server.writes[n:])
				}
				b.must(b.server.let(c.held))
				for range 3 {
					_, err = b.perform(step)
				}
			}
			b.must(err)
			if !b.exists(&corev1.Pod{}, "db-1-0") || !b.exists(&corev1.PersistentVolumeClaim{}, "db-1") {
				t.Error("another member was touched")
			}
		})
	}
}

// TestRetireForgetsNoPod: a node that is silent may run it still, so its end
// is Kubernetes' to tell.
func TestRetireForgetsNoPod(t *testing.T) {
	b := newBench(t)
	b.founded(2, "id")
	b.running("db-1", "db-2")
	held(b, &corev1.Pod{}, "db-2-0")
	b.must(b.server.raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: object("db-2-0", nil)}))
	for range 3 {
		l := b.live()
		s := b.observe(l)
		s.Kube.Members[s.memberIndex("db-2")].Pod.Problem = &kube.Problem{Kind: kube.ProblemNode, Message: "node n1 does not confirm that the pod ended"}
		if _, err := l.Perform(t.Context(), s, Step{Action: ActionRetire, Members: []string{"db-2"}}, nil); !errors.Is(err, engine.ErrNotReady) {
			t.Fatalf("it goes still: %v", err)
		}
		if !b.exists(&corev1.Pod{}, "db-2-0") {
			t.Error("the pod was forgotten")
		}
	}
}
