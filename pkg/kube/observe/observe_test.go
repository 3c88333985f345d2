package observe

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// countLists counts list requests and what they ask for.
func countLists(n *atomic.Int64, deny func(client.ObjectList) error) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
		opts ...client.ListOption) error {
		n.Add(1)
		if err := deny(list); err != nil {
			return err
		}
		return c.List(ctx, list, opts...)
	}}
}

func allow(client.ObjectList) error { return nil }

func TestFactsTakesFiveRequests(t *testing.T) {
	var n atomic.Int64
	v := workload.BuildVolume(kubetest.Cluster(), "db-2")
	v.Status.Phase = corev1.ClaimBound
	p := testPod(func(p *corev1.Pod) { p.Name = "db-2-0"; p.Labels = kube.MemberLabels(kubetest.Cluster(), "db-2") })
	c, _ := kubetest.New(t, countLists(&n, allow), v, workload.Build(memberInput()), p)
	f, err := Read(t.Context(), c, kubetest.Cluster(), Rendered{})
	if err != nil {
		t.Fatal(err)
	}
	m := f.Member("db-2")
	if len(f.Members) != 1 || !m.Volume.Bound || m.Workload.Token != "token-1" || !m.Pod.Ready {
		t.Errorf("members %+v", f.Members)
	}
	if n.Load() != 5 {
		t.Errorf("%d list requests, want 5", n.Load())
	}
}

// TestFactsListsSecretsOnlyWhileFounding: a reader of a formed cluster needs
// no right to list secrets.
func TestFactsListsSecretsOnlyWhileFounding(t *testing.T) {
	for id, want := range map[string]int64{"": 1, "cid": 0} {
		var n atomic.Int64
		cluster := kubetest.Cluster()
		cluster.Status.Bootstrap.ClusterID = id
		c, _ := kubetest.New(t, countLists(&n, func(l client.ObjectList) error {
			if l.GetObjectKind().GroupVersionKind().Kind != "SecretList" {
				n.Add(-1)
			}
			return nil
		}))
		if _, err := Read(t.Context(), c, cluster, Rendered{}); err != nil {
			t.Fatal(err)
		}
		if n.Load() != want {
			t.Errorf("cluster ID %q: %d lists of secrets, want %d", id, n.Load(), want)
		}
	}
}

// overdueObjects are a volume and a workload without a pod, both an hour old.
func overdueObjects() []client.Object {
	v, w := workload.BuildVolume(kubetest.Cluster(), "db-1"), workload.Build(memberInput())
	w.Name, w.UID, v.UID = "db-1", "uid-1", "uid-1"
	w.Labels = kube.MemberLabels(kubetest.Cluster(), "db-1")
	hour := metav1.NewTime(time.Now().Add(-time.Hour))
	v.CreationTimestamp, w.CreationTimestamp = hour, hour
	quota := event("StatefulSet", "FailedCreate", "exceeded quota", time.Hour, time.Minute)
	disk := event("PersistentVolumeClaim", "ProvisioningFailed", "no space", time.Hour, time.Minute)
	return []client.Object{v, w, &quota, &disk}
}

func TestFactsAsksEventsOnlyOfWhatIsOverdue(t *testing.T) {
	var n atomic.Int64
	c, _ := kubetest.New(t, countLists(&n, allow), overdueObjects()...)
	f, err := Read(t.Context(), c, kubetest.Cluster(), Rendered{})
	if err != nil {
		t.Fatal(err)
	}
	m := f.Member("db-1")
	if m.Pod.Problem == nil || m.Pod.Problem.Kind != ProblemForbidden || !strings.Contains(m.Pod.Problem.Message,
		"quota") {
		t.Errorf("pod problem %+v", m.Pod.Problem)
	}
	if m.Volume.Problem == nil || m.Volume.Problem.Message != "no space" {
		t.Errorf("volume problem %+v", m.Volume.Problem)
	}
	if n.Load() != 6 {
		t.Errorf("%d list requests, want 6", n.Load())
	}
}

func TestFactsWithoutRights(t *testing.T) {
	deny := func(kind string) func(client.ObjectList) error {
		return func(l client.ObjectList) error {
			_, events := l.(*corev1.EventList)
			_, workloads := l.(*appsv1.StatefulSetList)
			if (events && kind == "events") || (workloads && kind == "statefulsets") {
				return &kube.ForbiddenError{Verb: "list", Resource: kind, Namespace: "shop"}
			}
			return nil
		}
	}
	var n atomic.Int64
	c, _ := kubetest.New(t, countLists(&n, deny("events")), overdueObjects()...)
	if _, err := Read(t.Context(), c, kubetest.Cluster(), Rendered{}); err != nil {
		t.Errorf("events are a courtesy, but: %v", err)
	}
	c, _ = kubetest.New(t, countLists(&n, deny("statefulsets")))
	_, err := Read(t.Context(), c, kubetest.Cluster(), Rendered{})
	var forbidden *kube.ForbiddenError
	if !errors.As(err, &forbidden) || forbidden.Resource != "statefulsets" {
		t.Errorf("got %v, want the ForbiddenError and not what it cancelled", err)
	}
}

// TestFactsListsNoWholeNamespace: what a reading costs does not grow with what
// else is in the namespace, also before the cluster formed.
func TestFactsListsNoWholeNamespace(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
		opts ...client.ListOption) error {
		var o client.ListOptions
		o.ApplyOptions(opts)
		if o.LabelSelector == nil || o.LabelSelector.Empty() {
			t.Errorf("%T of a whole namespace", list)
		}
		return c.List(ctx, list, opts...)
	}})
	founding := kubetest.Cluster()
	founding.Status.Bootstrap.ClusterID = ""
	if _, err := Read(t.Context(), c, founding, Rendered{}); err != nil {
		t.Fatal(err)
	}
}

// TestFactsLooksForForeignersOnce: as soon as something of the cluster exists,
// writes check by themselves. A volume that an earlier cluster left is no beginning.
func TestFactsLooksForForeignersOnce(t *testing.T) {
	services := workload.BuildServices(kubetest.Cluster(), []corev1.ServicePort{{Name: "client", Port: 2379}})[0]
	for name, made := range map[string]client.Object{"a service": services,
		"a volume": workload.BuildVolume(kubetest.Cluster(), "db-2")} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			c, _ := kubetest.New(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey,
				o client.Object, opts ...client.GetOption) error {
				asked.Add(1)
				return c.Get(ctx, key, o, opts...)
			}}, made)
			founding := kubetest.Cluster()
			founding.Status.Bootstrap.ClusterID = ""
			if _, err := Read(t.Context(), c, founding, Rendered{}); err != nil {
				t.Fatal(err)
			}
			want := int64(0)
			if name == "a volume" {
				want = 15 // 2 services, a budget, 3 workloads, 3 volumes, 6 secrets
			}
			if asked.Load() != want {
				t.Errorf("asked for %d objects by name, want %d", asked.Load(), want)
			}
		})
	}
}

func TestFactsNoticesForeignersWhileFounding(t *testing.T) {
	objects := []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-client"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-1-tls"}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-3"}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-4"}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-1"}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "db-2"}},
	}
	c, _ := kubetest.New(t, interceptor.Funcs{}, objects...)
	founding := kubetest.Cluster()
	founding.Status.Bootstrap.ClusterID = ""
	f, err := Read(t.Context(), c, founding, Rendered{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"persistentvolumeclaim/db-3", "secret/db-1-tls", "service/db-client", "statefulset/db-1"}
	if diff := cmp.Diff(want, f.Foreign); diff != "" {
		t.Errorf("foreign (-want +got):\n%s", diff)
	}
	if len(f.Members) != 0 {
		t.Errorf("foreign objects became members: %+v", f.Members)
	}
}
