package executor

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

const report = `{"intact":true,"clusterID":"id","position":"3/20","bytes":1048576,"summary":"ends at 20"}`

func examineStep() ops.Step { return ops.Step{Action: ops.ActionExamine, Members: []string{"db-1"}} }

func recoveryStep() ops.Step {
	return ops.Step{Action: ops.ActionRecoverData, Members: []string{"db-1"}}
}

// fallen is a cluster in recovery, of which one volume is left.
func fallen(t *testing.T) (*opstest.Bench, *repository.Directory) {
	t.Helper()
	b := opstest.NewBench(t)
	c := b.Founded(3, "id")
	c.Spec.TLS.Disabled = true
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	b.Must(workload.ApplyVolume(t.Context(), b.Client(), c, "db-1"))
	d, err := repository.NewDirectory(t.TempDir())
	b.Must(err)
	b.Op = opstest.Operation(v1alpha1.VerbRecover)
	b.Op.Spec.Method, b.Op.Spec.Repository, b.Op.Spec.Backup = v1alpha1.RecoverData, d.URL(), backupID
	b.Op.Status.Facts = map[string]string{"examined/db-1": report}
	b.Database.Model.Content = "keys and values"
	return b, d
}

func TestExamineOnlyReads(t *testing.T) {
	b, _ := fallen(t)
	waits(b, examineStep(), "is starting")
	p := b.Only()
	if got := p.Spec.Containers[0]; !slices.Equal(got.Args,
		[]string{"helper", "examine", "--engine", "stub", "--dir", "/var/lib/stub/data", "--report",
			"/dev/termination-log"}) {
		t.Errorf("the pod runs %q", got.Args)
	}
	if m := mounted(p.Spec.Containers[0], "/var/lib/stub"); m == nil || !m.ReadOnly {
		t.Errorf("the volume can be written: %+v", m)
	}
	b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
	waits(b, examineStep(), "is being read")
	b.Becomes(p.Name, opstest.Ended(p, 0, report))
	r, err := perform(b, examineStep())
	b.Must(err)
	if r.Facts["examined/db-1"] != report || b.Helper(p.Name) != nil {
		t.Errorf("facts %v, the helper is there: %v", r.Facts, b.Helper(p.Name) != nil)
	}
	waits(b, examineStep(), "is starting")
	b.Becomes(p.Name, opstest.Ended(p, 0, "out of words"))
	if _, err := perform(b, examineStep()); err == nil || !strings.Contains(err.Error(), "out of words") ||
		b.Helper(p.Name) != nil {
		t.Errorf("no report: %v", err)
	}
}

// TestExamineReadsAllAtOnce: nobody can write meanwhile.
func TestExamineReadsAllAtOnce(t *testing.T) {
	b, _ := fallen(t)
	b.Must(workload.ApplyVolume(t.Context(), b.Client(), b.Cluster(), "db-2"))
	step := ops.Step{Action: ops.ActionExamine, Members: []string{"db-1", "db-2"}}
	waits(b, step, "is starting")
	first, second := b.Helper(examiner(b.Op, "db-1")), b.Helper(examiner(b.Op, "db-2"))
	if first == nil || second == nil {
		t.Fatal("not all volumes are read")
	}
	b.Becomes(first.Name, opstest.Ended(first, 0, report))
	waits(b, step, "db-2 is being read")
	b.Becomes(second.Name, opstest.Started(second, opstest.RunsFor()))
	waits(b, step, "db-2 is being read")
	b.Becomes(second.Name, opstest.Ended(second, 0, report))
	r, err := perform(b, step)
	b.Must(err)
	if r.Facts["examined/db-1"] != report || r.Facts["examined/db-2"] != report ||
		b.Helper(first.Name) != nil || b.Helper(second.Name) != nil {
		t.Errorf("facts %v, or a pod stays", r.Facts)
	}
}

// TestExamineAgain: what was read before a member ran again says nothing of what it wrote since, and by it the volume
// would be left that has the most.
func TestExamineAgain(t *testing.T) {
	b, _ := fallen(t)
	waits(b, examineStep(), "is starting")
	read := b.Only()
	b.Becomes(read.Name, opstest.Ended(read, 0, report))
	killed := b.Op
	b.Op = opstest.Operation(v1alpha1.VerbRecover)
	b.Op.Name = "another"
	waits(b, examineStep(), "is starting")
	b.Op = killed
	running(b, "db-1")
	waits(b, ops.Step{Action: ops.ActionStop, Members: []string{"db-1"}}, "going")
	if b.Helper(read.Name) != nil {
		t.Error("what was read before it ran again counts still")
	}
}

func TestExamineOutOfReach(t *testing.T) {
	b, _ := fallen(t)
	waits(b, examineStep(), "is starting")
	p := b.Only()
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Message: "0/2 nodes", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
	b.Becomes(p.Name, p.Status)
	if _, err := perform(b, examineStep()); ops.KindOf(err) != ops.NeedsHuman ||
		!strings.Contains(opstest.HintOf(err), "--without db-1") {
		t.Errorf("error %v, hint %q", err, opstest.HintOf(err))
	}
}

// mounted returns what a container mounts there.
func mounted(c corev1.Container, at string) *corev1.VolumeMount {
	for i, m := range c.VolumeMounts {
		if m.MountPath == at {
			return &c.VolumeMounts[i]
		}
	}
	return nil
}

func TestRecoverDataBacksUpACopy(t *testing.T) {
	b, repo := fallen(t)
	waits(b, recoveryStep(), "is starting")
	p := b.Only()
	copier, server := p.Spec.InitContainers[1], p.Spec.Containers[0]
	if want := []string{"/dbop/kubectl-dbop", "helper", "copy", "--from", "/source/data", "--to",
		"/var/lib/stub/data"}; !slices.Equal(copier.Command, want) {
		t.Errorf("it runs %q first", copier.Command)
	}
	if m := mounted(copier, "/source"); m == nil || !m.ReadOnly || mounted(server, "/source") != nil {
		t.Errorf("the volume can be written: %+v, or the server sees it", m)
	}
	if !slices.Contains(server.Args, "--alone") || !slices.Contains(server.Args, "--loopback") ||
		len(p.Labels["dbop.dev/member"]) > 0 {
		t.Errorf("others may reach it: %q %v", server.Args, p.Labels)
	}
	if got := copier.Resources.Requests.StorageEphemeral().Value(); got < 1<<20+64<<20 {
		t.Errorf("room for %d bytes", got)
	}
	waits(b, recoveryStep(), "is being made and started")
	b.Becomes(p.Name, opstest.Started(p, opstest.RunsFor()))
	b.Database.Model.Silent = true
	waits(b, recoveryStep(), "does not serve yet")
	b.Database.Model.Silent = false
	r, err := perform(b, recoveryStep())
	b.Must(err)
	if r.Facts[v1alpha1.FactBackup] != backupID || b.Helper(p.Name) != nil {
		t.Errorf("facts %v, the helper is there: %v", r.Facts, b.Helper(p.Name) != nil)
	}
	m, err := repo.Get(t.Context(), backupID)
	b.Must(err)
	if m.Member != "db-1" || m.ClusterID != "id" || m.Operation != b.Op.Name ||
		!strings.Contains(m.Origin, "ends at 20") {
		t.Errorf("%+v", m)
	}
	if last := b.Cluster().Status.LastBackup; last == nil || last.ID != backupID {
		t.Errorf("noted %+v", last)
	}
	// Died before the fact was written down: the backup that is there counts.
	waits(b, recoveryStep(), "is starting")
	b.Becomes(p.Name, opstest.Started(b.Only(), opstest.RunsFor()))
	b.Database.Model.Content = "other"
	if _, err := perform(b, recoveryStep()); err != nil {
		t.Errorf("a repeat: %v", err)
	}
}

func TestRecoverDataThatDoesNotServe(t *testing.T) {
	b, repo := fallen(t)
	waits(b, recoveryStep(), "is starting")
	p := b.Only()
	b.Becomes(p.Name, opstest.Ended(p, 2, "panic: removed"))
	_, err := perform(b, recoveryStep())
	if ops.KindOf(err) != ops.NeedsHuman || !strings.Contains(err.Error(), "panic: removed") ||
		!strings.Contains(opstest.HintOf(err), "--without db-1") || b.Helper(p.Name) != nil {
		t.Errorf("error %v, hint %q, helper %v", err, opstest.HintOf(err), b.Helper(p.Name))
	}
	if _, err := repo.Get(t.Context(), backupID); err == nil {
		t.Error("there is a backup")
	}
	waits(b, recoveryStep(), "is starting") // the next try begins again
}

// TestFenceForgetsOnlyTheDead: a pod is let go of once nothing makes it again.
func TestFenceForgetsOnlyTheDead(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(2, "id")
	b.Must(pki.EnsureCertificates(t.Context(), b.Client(), b.Cluster()))
	running(b, "db-1", "db-2")
	opstest.Held(b, &corev1.Pod{}, "db-1-0")
	b.Op = opstest.Operation(v1alpha1.VerbRecover)
	b.Op.Spec.Dead = []string{"db-1"}
	step := ops.Step{Action: ops.ActionFence, Members: []string{"db-1", "db-2"}}
	for range 3 {
		waits(b, step, "is still going")
	}
	if b.Helper("db-2-0") != nil {
		t.Error("db-2 runs")
	}
	l := liveOf(b)
	s := observation(b, l)
	s.Kube.Members[s.MemberIndex("db-1")].Pod.Problem = &observe.Problem{Kind: observe.ProblemNode}
	before := len(b.Server.Writes)
	if err := l.fence(t.Context(), task{State: s, Step: step}); err == nil {
		t.Error("it is gone before it was seen gone")
	}
	if len(b.Server.Writes) == before {
		t.Error("it was not forgotten")
	}
}
