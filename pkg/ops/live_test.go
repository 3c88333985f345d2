package ops

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
)

func TestObserveWithoutCluster(t *testing.T) {
	b := newBench(t)
	l := b.live()
	s := b.observe(l)
	if s.Cluster != nil || s.Kube.Members != nil || s.Now.IsZero() {
		t.Errorf("nothing exists and nothing is wanted: %+v", s)
	}
	b.must(b.server.raw.Create(t.Context(), &corev1.Service{ObjectMeta: object("db", nil)}))
	l.Wanted = wanted(3).Cluster
	s = b.observe(l)
	if s.Cluster != nil {
		t.Error("what is only wanted does not exist")
	}
	if diff := cmp.Diff([]string{"service/db"}, s.Kube.Foreign); diff != "" {
		t.Errorf("who is in the way (-want +got):\n%s", diff)
	}
	if len(b.server.writes) > 0 || len(b.database.sessions) > 0 {
		t.Errorf("a look wrote %v and made %d sessions", b.server.writes, len(b.database.sessions))
	}
}

func TestObserveNamesWhatItCouldNotRead(t *testing.T) {
	b := newBench(t)
	b.server.crashed = true
	if _, err := b.live().Observe(t.Context()); !errors.Is(err, errCrash) || !strings.Contains(err.Error(), "read cluster db") {
		t.Errorf("error %v", err)
	}
}

// TestObserveAsksWhoRuns: everybody else is spoken for by Kubernetes.
func TestObserveAsksWhoRuns(t *testing.T) {
	pulling := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	for name, c := range map[string]struct {
		prepare func(b *bench)
		asked   [][]string
		// silent is what is said of db-2; "-" for nothing at all.
		silent string
	}{
		"all run": {func(*bench) {}, [][]string{{"db-1", "db-2"}}, ""},
		"a pod is starting": {func(b *bench) {
			edit(b, &corev1.Pod{}, "db-2-0", func(p *corev1.Pod) { p.Status = started(p, pulling) })
		}, [][]string{{"db-1"}}, "its pod is starting"},
		"an image can't be pulled": {func(b *bench) {
			edit(b, &corev1.Pod{}, "db-2-0", func(p *corev1.Pod) {
				p.Status = started(p, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such tag"}})
			})
		}, [][]string{{"db-1"}}, "image example.com/stub:1.1.0: no such tag"},
		"no pod yet": {func(b *bench) {
			b.must(b.server.raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: object("db-2-0", nil)}))
		}, [][]string{{"db-1"}}, "it has no pod"},
		"a lost volume": {func(b *bench) {
			b.must(b.server.raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: object("db-2-0", nil)}))
			edit(b, &corev1.PersistentVolumeClaim{}, "db-2", func(v *corev1.PersistentVolumeClaim) { v.Status.Phase = corev1.ClaimLost })
		}, [][]string{{"db-1"}}, "behind the claim is gone"},
		"a pod that stops": {func(b *bench) {
			held(b, &corev1.Pod{}, "db-2-0")
			b.must(b.server.raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: object("db-2-0", nil)}))
		}, [][]string{{"db-1"}}, "its pod is stopping"},
		"a member of an earlier epoch": {func(b *bench) {
			edit(b, &appsv1.StatefulSet{}, "db-2", func(w *appsv1.StatefulSet) { w.Annotations["dbop.dev/token"] = "before" })
			edit(b, &corev1.PersistentVolumeClaim{}, "db-2", func(v *corev1.PersistentVolumeClaim) { v.Annotations["dbop.dev/token"] = "before" })
		}, [][]string{{"db-1"}}, "-"},
		"a volume alone": {func(b *bench) {
			b.must(b.server.raw.Delete(t.Context(), &corev1.Pod{ObjectMeta: object("db-2-0", nil)}))
			b.must(b.server.raw.Delete(t.Context(), &appsv1.StatefulSet{ObjectMeta: object("db-2", nil)}))
		}, [][]string{{"db-1"}}, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.founded(2, "id")
			b.must(b.client().EnsureCertificates(t.Context(), b.cluster()))
			b.running("db-1", "db-2")
			c.prepare(b)
			s := b.observe(b.live())
			if diff := cmp.Diff(c.asked, b.database.last().asked); diff != "" {
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
		prepare func(*bench)
		want    string
	}{
		"no certificate": {func(b *bench) {
			b.must(b.server.raw.Delete(t.Context(), &corev1.Secret{ObjectMeta: object("db-admin-tls", nil)}))
		}, "read the client certificate of db"},
		"an engine that refuses": {func(b *bench) { b.database.refuses = errors.New("no such dialect") }, "connect to db: no such dialect"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.founded(1, "id")
			b.must(b.client().EnsureCertificates(t.Context(), b.cluster()))
			b.running("db-1")
			c.prepare(b)
			m := b.observe(b.live()).View.Member("db-1")
			if m.Reachable || m.Role != engine.RoleUnknown || !strings.Contains(m.Problem, c.want) {
				t.Errorf("said of db-1: %+v, want %q", m, c.want)
			}
		})
	}
}

func TestSessionLastsAsLongAsItsEpoch(t *testing.T) {
	b := newBench(t)
	b.founded(1, "id")
	b.must(b.client().EnsureCertificates(t.Context(), b.cluster()))
	b.running("db-1")
	l := b.live()
	b.observe(l)
	b.observe(l)
	first := b.database.last()
	if len(b.database.sessions) != 1 || first.access.TLS == nil || first.access.Cluster.Name != "db" {
		t.Fatalf("%d sessions, access %+v", len(b.database.sessions), first.access)
	}
	if _, err := first.access.Dial(t.Context(), "db-1-0", 2379); err == nil || !strings.Contains(err.Error(), "shop/db-1-0") {
		t.Errorf("the session dials %v", err)
	}
	c := b.cluster()
	c.Status.Formation.Token = "next"
	b.must(b.store().UpdateCluster(t.Context(), c))
	b.must(l.start(t.Context(), State{Cluster: b.cluster()}, []string{"db-1"}))
	b.observe(l)
	if len(b.database.sessions) != 2 || !first.closed || b.database.last().closed {
		t.Errorf("%d sessions, the first closed: %v", len(b.database.sessions), first.closed)
	}
	b.must(l.Close())
	if !b.database.last().closed {
		t.Error("Close leaves the session open")
	}
}

func TestReadOnlyReachesNoDatabase(t *testing.T) {
	b := newBench(t)
	b.readOnly, b.op = true, operation("")
	b.op.Spec.Compaction = &v1alpha1.Compaction{Before: 7}
	c := b.founded(1, "id")
	c.Spec.TLS.Disabled = true
	b.must(b.store().UpdateCluster(t.Context(), c))
	b.running("db-1")
	for _, step := range []Step{{Action: ActionRegister, Members: []string{"db-2"}}, {Action: ActionHandOver, To: "db-1"}, {Action: ActionDefragment, Members: []string{"db-1"}}, {Action: ActionCompact}, {Action: ActionCompare}, {Action: ActionDisarm}, {Action: ActionProveWrite},
		{Action: ActionBackup}, {Action: ActionVerify}, {Action: ActionLoad}} {
		if _, err := b.perform(step); !errors.Is(err, engine.ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", step.Action, err)
		}
	}
	if s := b.database.last(); s.calls != nil || len(s.asked) == 0 || s.access.TLS != nil {
		t.Errorf("calls %v, asked %v, TLS %v", s.calls, s.asked, s.access.TLS)
	}
}

func TestLiveWakesAndSaves(t *testing.T) {
	b := newBench(t)
	b.founded(1, "id")
	l := b.live()
	op := operation("backup")
	op.Name = ""
	b.must(l.Store.CreateOperation(t.Context(), op))
	op.Status.Message = "noted"
	b.must(l.Save(t.Context(), op))
	stored, err := b.store().GetOperation(t.Context(), "shop", op.Name)
	b.must(err)
	if stored.Status.Message != "noted" {
		t.Errorf("stored %+v", stored.Status)
	}
	// The watch begins a moment later: change something until it is heard.
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "db-", Labels: map[string]string{"dbop.dev/cluster": "db"}}}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		b.must(b.server.raw.Create(t.Context(), p.DeepCopy()))
		select {
		case <-l.Changed():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Error("a new pod woke nobody")
}
