package ops

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// The pods of database serve a copy when they are told so.
func (d *database) SalvagePod(in engine.PodInput) (engine.Pod, error) {
	in.Loopback = true
	pod, err := d.Pod(in)
	pod.Container.Args = append(pod.Container.Args, "--alone")
	return pod, err
}

func (*database) Examine(string) engine.Remains                               { return engine.Remains{} }
func (*database) CompareRemains(engine.Position, engine.Position) (int, bool) { return 0, true }
func (*database) Lag(engine.Position, engine.Position) string                 { return "" }

const report = `{"intact":true,"clusterID":"id","position":"3/20","bytes":1048576,"summary":"ends at 20"}`

func examineStep() Step { return Step{Action: ActionExamine, Members: []string{"db-1"}} }
func salvageStep() Step { return Step{Action: ActionSalvage, Members: []string{"db-1"}} }

// fallen is a cluster in recovery, of which one volume is left.
func fallen(t *testing.T) (*bench, *repository.Directory) {
	t.Helper()
	b := newBench(t)
	c := b.founded(3, "id")
	c.Spec.TLS.Disabled = true
	b.must(b.store().UpdateCluster(t.Context(), c))
	b.must(b.client().ApplyVolume(t.Context(), c, "db-1"))
	d, err := repository.NewDirectory(t.TempDir())
	b.must(err)
	b.op = operation(v1alpha1.VerbRecover)
	b.op.Spec.Method, b.op.Spec.Repository, b.op.Spec.Backup = v1alpha1.RecoverData, d.URL(), backupID
	b.op.Status.Facts = map[string]string{"examined/db-1": report}
	b.database.model.content = "keys and values"
	return b, d
}

func TestExamineOnlyReads(t *testing.T) {
	b, _ := fallen(t)
	b.waits(examineStep(), "is starting")
	p := b.only()
	if got := p.Spec.Containers[0]; !slices.Equal(got.Args, []string{"agent", "examine", "--engine", "stub", "--dir", "/var/lib/stub/data", "--report", "/dev/termination-log"}) {
		t.Errorf("the pod runs %q", got.Args)
	}
	if m := mounted(p.Spec.Containers[0], "/var/lib/stub"); m == nil || !m.ReadOnly {
		t.Errorf("the volume can be written: %+v", m)
	}
	b.becomes(p.Name, started(p, runs()))
	b.waits(examineStep(), "is being read")
	b.becomes(p.Name, ended(p, 0, report))
	r, err := b.perform(examineStep())
	b.must(err)
	if r.Facts["examined/db-1"] != report || b.helper(p.Name) != nil {
		t.Errorf("facts %v, the helper is there: %v", r.Facts, b.helper(p.Name) != nil)
	}
	b.waits(examineStep(), "is starting")
	b.becomes(p.Name, ended(p, 0, "out of words"))
	if _, err := b.perform(examineStep()); err == nil || !strings.Contains(err.Error(), "out of words") || b.helper(p.Name) != nil {
		t.Errorf("no report: %v", err)
	}
}

func TestExamineOutOfReach(t *testing.T) {
	b, _ := fallen(t)
	b.waits(examineStep(), "is starting")
	p := b.only()
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/2 nodes", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
	b.becomes(p.Name, p.Status)
	if _, err := b.perform(examineStep()); KindOf(err) != NeedsHuman || !strings.Contains(hintOf(err), "--without db-1") {
		t.Errorf("error %v, hint %q", err, hintOf(err))
	}
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Hint
	}
	return ""
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

func TestSalvageBacksUpACopy(t *testing.T) {
	b, repo := fallen(t)
	b.waits(salvageStep(), "is starting")
	p := b.only()
	copier, server := p.Spec.InitContainers[1], p.Spec.Containers[0]
	if want := []string{"/dbop/kubectl-dbop", "agent", "copy", "--from", "/source/data", "--to", "/var/lib/stub/data"}; !slices.Equal(copier.Command, want) {
		t.Errorf("it runs %q first", copier.Command)
	}
	if m := mounted(copier, "/source"); m == nil || !m.ReadOnly || mounted(server, "/source") != nil {
		t.Errorf("the volume can be written: %+v, or the server sees it", m)
	}
	if !slices.Contains(server.Args, "--alone") || !slices.Contains(server.Args, "--loopback") || len(p.Labels["dbop.dev/member"]) > 0 {
		t.Errorf("others may reach it: %q %v", server.Args, p.Labels)
	}
	if got := copier.Resources.Requests.StorageEphemeral().Value(); got < 1<<20+64<<20 {
		t.Errorf("room for %d bytes", got)
	}
	b.waits(salvageStep(), "is being made and started")
	b.becomes(p.Name, started(p, runs()))
	b.database.model.silent = true
	b.waits(salvageStep(), "does not serve yet")
	b.database.model.silent = false
	r, err := b.perform(salvageStep())
	b.must(err)
	if r.Facts[v1alpha1.FactBackup] != backupID || b.helper(p.Name) != nil {
		t.Errorf("facts %v, the helper is there: %v", r.Facts, b.helper(p.Name) != nil)
	}
	m, err := repo.Get(t.Context(), backupID)
	b.must(err)
	if m.Member != "db-1" || m.ClusterID != "id" || m.Operation != b.op.Name || !strings.Contains(m.Origin, "ends at 20") {
		t.Errorf("%+v", m)
	}
	if last := b.cluster().Status.LastBackup; last == nil || last.ID != backupID {
		t.Errorf("noted %+v", last)
	}
	// Died before the fact was written down: the backup that is there counts.
	b.waits(salvageStep(), "is starting")
	b.becomes(p.Name, started(b.only(), runs()))
	b.database.model.content = "other"
	if _, err := b.perform(salvageStep()); err != nil {
		t.Errorf("a repeat: %v", err)
	}
}

func TestSalvageThatDoesNotServe(t *testing.T) {
	b, repo := fallen(t)
	b.waits(salvageStep(), "is starting")
	p := b.only()
	b.becomes(p.Name, ended(p, 2, "panic: removed"))
	_, err := b.perform(salvageStep())
	if KindOf(err) != NeedsHuman || !strings.Contains(err.Error(), "panic: removed") || !strings.Contains(hintOf(err), "--without db-1") || b.helper(p.Name) != nil {
		t.Errorf("error %v, hint %q, helper %v", err, hintOf(err), b.helper(p.Name))
	}
	if _, err := repo.Get(t.Context(), backupID); err == nil {
		t.Error("there is a backup")
	}
	b.waits(salvageStep(), "is starting") // the next try begins anew
}

// TestFenceForgetsOnlyTheDead: a pod is let go of once nothing makes it anew.
func TestFenceForgetsOnlyTheDead(t *testing.T) {
	b := newBench(t)
	b.founded(2, "id")
	b.must(b.client().EnsureCertificates(t.Context(), b.cluster()))
	b.running("db-1", "db-2")
	held(b, &corev1.Pod{}, "db-1-0")
	b.op = operation(v1alpha1.VerbRecover)
	b.op.Spec.Dead = []string{"db-1"}
	step := Step{Action: ActionFence, Members: []string{"db-1", "db-2"}}
	for range 3 {
		b.waits(step, "is still going")
	}
	if b.helper("db-2-0") != nil {
		t.Error("db-2 runs")
	}
	l := b.live()
	s := b.observe(l)
	s.Kube.Members[s.memberIndex("db-1")].Pod.Problem = &kube.Problem{Kind: kube.ProblemNode}
	before := len(b.server.writes)
	if err := l.fence(t.Context(), s, step.Members); err == nil {
		t.Error("it is gone before it was seen gone")
	}
	if len(b.server.writes) == before {
		t.Error("it was not forgotten")
	}
}
