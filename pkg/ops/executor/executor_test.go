package executor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestObserveWithoutCluster(t *testing.T) {
	b := opstest.NewBench(t)
	l := liveOf(b)
	s := observation(b, l)
	if s.Cluster != nil || s.Kube.Members != nil || s.Now.IsZero() {
		t.Errorf("nothing exists and nothing is wanted: %+v", s)
	}
	b.Must(b.Server.Raw.Create(t.Context(), &corev1.Service{ObjectMeta: opstest.Object("db", nil)}))
	l.Wanted = opstest.Wanted(3).Cluster
	s = observation(b, l)
	if s.Cluster != nil {
		t.Error("what is only wanted does not exist")
	}
	if diff := cmp.Diff([]string{"service/db"}, s.Kube.Foreign); diff != "" {
		t.Errorf("who is in the way (-want +got):\n%s", diff)
	}
	if len(b.Server.Writes) > 0 || len(b.Database.Sessions) > 0 {
		t.Errorf("an observation wrote %v and made %d sessions", b.Server.Writes, len(b.Database.Sessions))
	}
}

func TestObserveNamesWhatItCouldNotRead(t *testing.T) {
	b := opstest.NewBench(t)
	b.Server.Crashed = true
	if _, err := liveOf(b).Observe(t.Context()); !errors.Is(err, opstest.ErrCrash) ||
		!strings.Contains(err.Error(), "read cluster db") {
		t.Errorf("error %v", err)
	}
}

// TestObserveAsksWhoRuns: everybody else is spoken for by Kubernetes.
func TestObserveAsksWhoRuns(t *testing.T) {
	pulling := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	for name, c := range map[string]struct {
		prepare func(b *opstest.Bench)
		asked   [][]string
		// silent is what is said of db-2; "-" for nothing at all.
		silent string
	}{
		"all run": {func(*opstest.Bench) {}, [][]string{{"db-1", "db-2"}}, ""},
		"a pod is starting": {func(b *opstest.Bench) {
			opstest.Edit(b, &corev1.Pod{}, "db-2-0", func(p *corev1.Pod) { p.Status = opstest.Started(p, pulling) })
		}, [][]string{{"db-1"}}, "its pod is starting"},
		"an image can't be pulled": {func(b *opstest.Bench) {
			opstest.Edit(b, &corev1.Pod{}, "db-2-0", func(p *corev1.Pod) {
				p.Status = opstest.Started(p,
					corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull",
						Message: "no such tag"}})
			})
		}, [][]string{{"db-1"}}, "image example.com/stub:1.1.0: no such tag"},
		"no pod yet": {func(b *opstest.Bench) {
			b.Must(b.Server.Raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: opstest.Object("db-2-0", nil)}))
		}, [][]string{{"db-1"}}, "it has no pod"},
		"a lost volume": {func(b *opstest.Bench) {
			b.Must(b.Server.Raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: opstest.Object("db-2-0", nil)}))
			opstest.Edit(b, &corev1.PersistentVolumeClaim{}, "db-2",
				func(v *corev1.PersistentVolumeClaim) { v.Status.Phase = corev1.ClaimLost })
		}, [][]string{{"db-1"}}, "behind the claim is gone"},
		"a pod that stops": {func(b *opstest.Bench) {
			opstest.Held(b, &corev1.Pod{}, "db-2-0")
			b.Must(b.Server.Raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: opstest.Object("db-2-0", nil)}))
		}, [][]string{{"db-1"}}, "its pod is stopping"},
		"a member of an earlier incarnation": {func(b *opstest.Bench) {
			opstest.Edit(b, &appsv1.StatefulSet{}, "db-2",
				func(w *appsv1.StatefulSet) { w.Annotations["dbop.dev/token"] = "before" })
			opstest.Edit(b, &corev1.PersistentVolumeClaim{}, "db-2",
				func(v *corev1.PersistentVolumeClaim) { v.Annotations["dbop.dev/token"] = "before" })
		}, [][]string{{"db-1"}}, "-"},
		"a volume alone": {func(b *opstest.Bench) {
			b.Must(b.Server.Raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: opstest.Object("db-2-0", nil)}))
			b.Must(b.Server.Raw.Delete(t.Context(), &appsv1.StatefulSet{ObjectMeta: opstest.Object("db-2", nil)}))
		}, [][]string{{"db-1"}}, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			b := opstest.NewBench(t)
			b.Founded(2, "id")
			b.Must(pki.EnsureCertificates(t.Context(), b.Client(), b.Cluster()))
			running(b, "db-1", "db-2")
			c.prepare(b)
			s := observation(b, liveOf(b))
			if diff := cmp.Diff(c.asked, b.Database.Last().Asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if m := s.View.Member("db-2"); c.silent == "-" && len(s.View.Members) > 1 {
				t.Errorf("it is none of ours: %+v", m)
			} else if c.silent != "-" && (!strings.Contains(m.Problem, c.silent) || m.Reachable != (c.silent == "")) {
				t.Errorf("said of db-2: %+v, want %q", m, c.silent)
			}
		})
	}
}

func TestObserveBlamesTheConnection(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*opstest.Bench)
		want    string
	}{
		"no certificate": {func(b *opstest.Bench) {
			b.Must(b.Server.Raw.Delete(t.Context(), &corev1.Secret{ObjectMeta: opstest.Object("db-admin-tls", nil)}))
		}, "read the client certificate of db"},
		"an engine that refuses": {func(b *opstest.Bench) { b.Database.Refuses = errors.New("no such dialect") },
			"connect to db: no such dialect"},
	} {
		t.Run(name, func(t *testing.T) {
			b := opstest.NewBench(t)
			b.Founded(1, "id")
			b.Must(pki.EnsureCertificates(t.Context(), b.Client(), b.Cluster()))
			running(b, "db-1")
			c.prepare(b)
			m := observation(b, liveOf(b)).View.Member("db-1")
			if m.Reachable || m.Role != engine.RoleUnknown || !strings.Contains(m.Problem, c.want) {
				t.Errorf("said of db-1: %+v, want %q", m, c.want)
			}
		})
	}
}

func TestSessionLastsAsLongAsItsIncarnation(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(1, "id")
	b.Must(pki.EnsureCertificates(t.Context(), b.Client(), b.Cluster()))
	running(b, "db-1")
	l := liveOf(b)
	observation(b, l)
	observation(b, l)
	first := b.Database.Last()
	if len(b.Database.Sessions) != 1 || first.Access.TLS == nil || first.Access.Cluster.Name != "db" {
		t.Fatalf("%d sessions, access %+v", len(b.Database.Sessions), first.Access)
	}
	if _, err := first.Access.Dial(t.Context(), "db-1-0", 2379); err == nil ||
		!strings.Contains(err.Error(), "shop/db-1-0") {
		t.Errorf("the session dials %v", err)
	}
	c := b.Cluster()
	c.Status.Bootstrap.Token = "next"
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	b.Must(l.start(t.Context(), task{State: ops.State{Cluster: b.Cluster()}, Step: ops.Step{Members: []string{"db-1"}}}))
	observation(b, l)
	if len(b.Database.Sessions) != 2 || !first.Closed || b.Database.Last().Closed {
		t.Errorf("%d sessions, the first closed: %v", len(b.Database.Sessions), first.Closed)
	}
	b.Must(l.Close())
	if !b.Database.Last().Closed {
		t.Error("Close leaves the session open")
	}
}

func TestReadOnlyReachesNoDatabase(t *testing.T) {
	b := opstest.NewBench(t)
	b.ReadOnly, b.Op = true, opstest.Operation("")
	b.Op.Spec.Compaction = &v1alpha1.Compaction{Before: 7}
	c := b.Founded(1, "id")
	c.Spec.TLS.Disabled = true
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	running(b, "db-1")
	for _, step := range []ops.Step{{Action: ops.ActionRegister, Members: []string{"db-2"}},
		{Action: ops.ActionHandOver, To: "db-1"}, {Action: ops.ActionDefragment, Members: []string{"db-1"}},
		{Action: ops.ActionCompact}, {Action: ops.ActionCompare}, {Action: ops.ActionClearAlarms},
		{Action: ops.ActionProveWrite},
		{Action: ops.ActionBackup}, {Action: ops.ActionVerify}, {Action: ops.ActionLoad}} {
		if _, err := perform(b, step); !errors.Is(err, engine.ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", step.Action, err)
		}
	}
	if s := b.Database.Last(); s.Calls != nil || len(s.Asked) == 0 || s.Access.TLS != nil {
		t.Errorf("calls %v, asked %v, TLS %v", s.Calls, s.Asked, s.Access.TLS)
	}
}

func TestLiveWakesAndSaves(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(1, "id")
	l := liveOf(b)
	op := opstest.Operation("backup")
	op.Name = ""
	b.Must(l.Store.CreateOperation(t.Context(), op))
	op.Status.Message = "noted"
	b.Must(l.Save(t.Context(), op))
	stored, err := b.Store().GetOperation(t.Context(), "shop", op.Name)
	b.Must(err)
	if stored.Status.Message != "noted" {
		t.Errorf("stored %+v", stored.Status)
	}
	// The watch begins a moment later: change something until it is heard.
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "db-",
		Labels: map[string]string{"dbop.dev/cluster": "db"}}}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		b.Must(b.Server.Raw.Create(t.Context(), p.DeepCopy()))
		select {
		case <-l.Changed():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Error("a new pod woke nobody")
}
