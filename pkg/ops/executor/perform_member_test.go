package executor

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
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// args of a member's template.
func args(b *opstest.Bench, member string) []string {
	b.T.Helper()
	w := &appsv1.StatefulSet{}
	if !b.Exists(w, member) {
		b.T.Fatalf("no workload %s", member)
	}
	return w.Spec.Template.Spec.Containers[0].Args
}

func TestStartTellsMembersWhoTheirPeersAre(t *testing.T) {
	for name, c := range map[string]struct {
		id      string
		restore bool
		listed  []engine.Registered
		member  string
		want    []string
	}{
		"an initial member":         {"", false, nil, "db-1", []string{"--name=db-1", "--peers=db-1,db-2", "--found"}},
		"a restored initial member": {"", true, nil, "db-1", []string{"--name=db-1", "--peers=db-1,db-2"}},
		"a joiner": {"id", false, []engine.Registered{{Name: "db-1"}, {Name: "db-3"}}, "db-3",
			[]string{"--name=db-3", "--peers=db-1,db-3"}},
		"a joiner that the list lacks": {"id", false, []engine.Registered{{Name: "db-1"}}, "db-3",
			[]string{"--name=db-3", "--peers=db-1,db-3"}},
		"nobody answers": {"id", false, nil, "db-2", []string{"--name=db-2", "--peers=db-1,db-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := opstest.NewBench(t)
			cluster := b.Founded(2, c.id)
			if c.restore {
				cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "dir:/backups", Backup: "b1"}
			}
			b.Must(pki.EnsureCertificates(t.Context(), b.Client(), cluster))
			b.Must(workload.ApplyVolume(t.Context(), b.Client(), cluster, "db-1"))
			l := liveOf(b)
			s := observation(b, l)
			s.Cluster, s.View.MemberList = cluster, c.listed
			if _, err := l.Perform(t.Context(), s, ops.Step{Action: ops.ActionStart, Members: []string{c.member}},
				nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, args(b, c.member)); diff != "" {
				t.Errorf("args (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDisableBootstrapTakesTheWordsAway(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(2, "id")
	running(b, "db-1", "db-2")
	for _, m := range []string{"db-1", "db-2"} {
		opstest.Edit(b, &appsv1.StatefulSet{}, m, func(w *appsv1.StatefulSet) {
			w.Annotations["dbop.dev/bootstrap"] = "true"
			w.Spec.Template.Spec.Containers[0].Args = append(w.Spec.Template.Spec.Containers[0].Args, "--found")
		})
	}
	_, err := perform(b, ops.Step{Action: ops.ActionDisableBootstrap, Members: []string{"db-1", "db-2"}})
	b.Must(err)
	s := observation(b, liveOf(b))
	for _, m := range []string{"db-1", "db-2"} {
		if slices.Contains(args(b, m), "--found") || s.Kube.Member(m).Workload.Bootstrap {
			t.Errorf("%s may found still: %v", m, args(b, m))
		}
	}
	if _, err := perform(b, ops.Step{Action: ops.ActionDisableBootstrap, Members: []string{"db-9"}}); !errors.Is(err,
		kube.ErrNotFound) || !strings.Contains(err.Error(), "db-9") {
		t.Errorf("no such workload: %v", err)
	}
}

// upgrading is a cluster whose second member is to run a newer version.
func upgradingBench(t *testing.T) *opstest.Bench {
	b := opstest.NewBench(t)
	b.Founded(2, "id")
	running(b, "db-1", "db-2")
	c := b.Cluster()
	c.Spec.Version = "1.2.0"
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	return b
}

func TestRenewalWaitsForTheWorkloadsController(t *testing.T) {
	for action, c := range map[ops.Action]struct {
		change func(*v1alpha1.DatabaseCluster)
		done   func(renewed, other observe.Member) bool
	}{
		ops.ActionRestart: {func(*v1alpha1.DatabaseCluster) {},
			func(renewed, other observe.Member) bool {
				return renewed.Pod.Rendering == renewed.Workload.Rendering &&
					renewed.Workload.Rendering != other.Workload.Rendering
			}},
		ops.ActionUpgrade: {func(c *v1alpha1.DatabaseCluster) { c.Spec.Version = "1.2.0" },
			func(renewed, other observe.Member) bool {
				return renewed.Pod.Version == "1.2.0" && other.Workload.Version == "1.1.0"
			}},
		ops.ActionRoll: {func(c *v1alpha1.DatabaseCluster) { c.Spec.Config = map[string]string{"speed": "high"} },
			func(renewed, other observe.Member) bool {
				return renewed.Pod.Settings == renewed.Workload.Settings && renewed.Pod.Settings != other.Workload.Settings
			}},
	} {
		t.Run(string(action), func(t *testing.T) {
			b := opstest.NewBench(t)
			b.Founded(2, "id")
			running(b, "db-1", "db-2")
			cluster := b.Cluster()
			c.change(cluster)
			b.Must(b.Store().UpdateCluster(t.Context(), cluster))
			if action == ops.ActionRestart {
				renderedElsewhere(b, "db-1", "db-2")
				asksRestart(b, "db-2")
			}
			b.Server.Lazy = true
			step := ops.Step{Action: action, Members: []string{"db-2"}}
			for range 2 {
				if _, err := perform(b, step); !errors.Is(err, engine.ErrNotReady) {
					t.Fatalf("the controller has not seen it: %v", err)
				}
			}
			if !b.Exists(&corev1.Pod{}, "db-2-0") {
				t.Fatal("the pod went too early, and would come back from the old template")
			}
			b.Server.Lazy = false
			_, err := perform(b, step)
			b.Must(err)
			if b.Exists(&corev1.Pod{}, "db-2-0") || !b.Exists(&corev1.Pod{}, "db-1-0") {
				t.Error("not the one pod was restarted")
			}
			b.Pod("db-2")
			_, err = perform(b, step)
			b.Must(err)
			if s := observation(b, liveOf(b)); !c.done(s.Kube.Member("db-2"), s.Kube.Member("db-1")) {
				t.Errorf("members %+v", s.Kube.Members)
			}
		})
	}
}

// TestRestartsSpareTheSuccessor: the pod that was observed is gone and its
// workload made another.
func TestRestartsSpareTheSuccessor(t *testing.T) {
	for name, step := range map[string]ops.Step{
		"upgrade": {Action: ops.ActionUpgrade, Members: []string{"db-2"}},
		"roll":    {Action: ops.ActionRoll, Members: []string{"db-2"}},
		"restart": {Action: ops.ActionRestart, Members: []string{"db-2"}},
		"revive":  {Action: ops.ActionRevive, Members: []string{"db-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := upgradingBench(t)
			l := liveOf(b)
			s := observation(b, l)
			s.Operation = opstest.Operation(v1alpha1.VerbRestart)
			s.Operation.Spec.Pods = map[string]string{"db-2": s.Kube.Member("db-2").Pod.UID}
			b.Must(b.Server.Raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: opstest.Object("db-2-0", nil)}))
			b.Pod("db-2")
			if _, err := l.Perform(t.Context(), s, step, nil); err != nil {
				t.Fatal(err)
			}
			if !b.Exists(&corev1.Pod{}, "db-2-0") {
				t.Error("the successor was restarted too")
			}
		})
	}
}

// ending are the steps that wait for what they told to go.
func TestEndingsWaitUntilGone(t *testing.T) {
	for name, c := range map[string]struct {
		action ops.Action
		held   client.Object
		name   string
		// still are objects that must not be touched while it is held.
		still string
		want  string
	}{
		"stop waits for pods": {ops.ActionStop, &corev1.Pod{}, "db-2-0", "PersistentVolumeClaim/db-2",
			"db-2 is still going"},
		"stop waits for workloads": {ops.ActionStop, &appsv1.StatefulSet{}, "db-2", "PersistentVolumeClaim/db-2",
			"db-2 is still going"},
		"retire waits for the pod": {ops.ActionRetire, &corev1.Pod{}, "db-2-0", "PersistentVolumeClaim/db-2",
			"db-2 is still going"},
		"retire waits for the workload": {ops.ActionRetire, &appsv1.StatefulSet{}, "db-2", "Secret/db-2-tls",
			"db-2 is still going"},
		"retire waits for the volume": {ops.ActionRetire, &corev1.PersistentVolumeClaim{}, "db-2", "Secret/db-1-tls",
			"the volume of db-2 is still going"},
		"deletion waits for its volumes": {ops.ActionDeleteVolume, &corev1.PersistentVolumeClaim{}, "db-2",
			"Secret/db-2-tls", "the volume of db-2 is still going"},
		"deletion of what nothing holds":  {ops.ActionDeleteVolume, nil, "", "Secret/db-2-tls", ""},
		"retirement that nothing holds":   {ops.ActionRetire, nil, "", "Secret/db-1-tls", ""},
		"a stop of what is there no more": {ops.ActionStop, nil, "", "PersistentVolumeClaim/db-2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := opstest.NewBench(t)
			b.Founded(2, "id")
			running(b, "db-1", "db-2")
			if c.held != nil {
				opstest.Held(b, c.held, c.name)
			}
			step := ops.Step{Action: c.action, Members: []string{"db-2"}}
			var err error
			for range 4 {
				_, err = perform(b, step)
			}
			if c.held != nil {
				if !errors.Is(err, engine.ErrNotReady) || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("it is held: %v, want %q", err, c.want)
				}
				if !b.Server.Names(t)[c.still] {
					t.Errorf("%s is gone", c.still)
				}
				n := len(b.Server.Writes)
				_, _ = perform(b, step)
				if len(b.Server.Writes) > n {
					t.Errorf("what goes is told again: %v", b.Server.Writes[n:])
				}
				b.Must(b.Server.Let(c.held))
				for range 3 {
					_, err = perform(b, step)
				}
			}
			b.Must(err)
			if !b.Exists(&corev1.Pod{}, "db-1-0") || !b.Exists(&corev1.PersistentVolumeClaim{}, "db-1") {
				t.Error("another member was touched")
			}
		})
	}
}

// TestRetireForgetsNoPod: a node that is silent may run it still, so its end
// is Kubernetes' to tell.
func TestRetireForgetsNoPod(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(2, "id")
	running(b, "db-1", "db-2")
	opstest.Held(b, &corev1.Pod{}, "db-2-0")
	b.Must(b.Server.Raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: opstest.Object("db-2-0", nil)}))
	for range 3 {
		l := liveOf(b)
		s := observation(b, l)
		s.Kube.Members[s.MemberIndex("db-2")].Pod.Problem = &observe.Problem{Kind: observe.ProblemNode,
			Message: "node n1 does not confirm that the pod ended"}
		if _, err := l.Perform(t.Context(), s, ops.Step{Action: ops.ActionRetire, Members: []string{"db-2"}},
			nil); !errors.Is(err, engine.ErrNotReady) {
			t.Fatalf("it goes still: %v", err)
		}
		if !b.Exists(&corev1.Pod{}, "db-2-0") {
			t.Error("the pod was forgotten")
		}
	}
}

// TestVolumeOfLoader: a pod of the tool that uses a volume ends with it, else the volume never goes.
func TestVolumeOfLoader(t *testing.T) {
	b := opstest.NewBench(t)
	c := b.Founded(2, "id")
	running(b, "db-1", "db-2")
	for _, member := range []string{"db-1", "db-2"} {
		b.Must(helperpod.Create(t.Context(), b.Client(), helperpod.Spec{Name: member + "-load", Namespace: "shop",
			Cluster: c, Purpose: helperpod.PurposeLoad, Image: "i", Claim: v1alpha1.VolumeName(member), MountPath: "/d"}))
	}
	for range 3 {
		_, _ = perform(b, ops.Step{Action: ops.ActionDeleteVolume, Members: []string{"db-2"}})
	}
	if b.Exists(&corev1.Pod{}, "db-2-load") || !b.Exists(&corev1.Pod{}, "db-1-load") {
		t.Error("the loader of db-2 is to end, and no other")
	}
}
