package kube_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/portforward"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// real is a namespace of its own, with restricted Pod Security, on a real cluster.
type real struct {
	*kube.Client
	store     *store.ConfigMaps
	plain     kubernetes.Interface
	namespace string
}

func onRealCluster(t *testing.T) *real {
	t.Helper()
	path := os.Getenv("DBOP_E2E_KUBECONFIG")
	if path == "" {
		t.Skip("DBOP_E2E_KUBECONFIG names no kubeconfig: no real cluster to try this on")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kube.New(config, kube.Options{UserAgent: kube.UserAgent("test", "none")})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ns, err := plain.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "kube-test-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plain.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), ns.Name,
			metav1.DeleteOptions{}); err != nil {
			t.Errorf("remove namespace %s: %v", ns.Name, err)
		}
	})
	return &real{Client: c, store: store.NewConfigMaps(c), plain: plain, namespace: ns.Name}
}

// create stores a plain-text cluster of one member and returns its workload.
func (r *real) create(t *testing.T) (*v1alpha1.DatabaseCluster, workload.Input) {
	t.Helper()
	c := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: r.namespace},
		Spec: v1alpha1.DatabaseClusterSpec{
			Engine: "etcd", Version: "3.6.16", Members: 1, Storage: v1alpha1.Storage{Size: resource.MustParse("512Mi")},
		}}
	c.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "t1", Members: []string{"db-1"}}
	if err := r.store.CreateCluster(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	image := cmp.Or(os.Getenv("DBOP_E2E_IMAGE"), "dbop.test/etcd-development/etcd:v3.6.16")
	return c, workload.Input{Cluster: c, Member: "db-1", Version: "3.6.16", Bootstrap: true, Renderer: "test",
		Pod: engine.Pod{
			Container: corev1.Container{Name: "etcd", Image: image, Command: []string{"etcd", "--name=db-1",
				"--data-dir=/var/lib/etcd/data"}},
			DataPath: "/var/lib/etcd", TLSPath: "/tls", GraceSeconds: 5,
		}}
}

// apply makes everything of the cluster.
func (r *real) apply(t *testing.T, c *v1alpha1.DatabaseCluster, w workload.Input) {
	t.Helper()
	for _, do := range []func() error{
		func() error { return pki.EnsureCertificates(t.Context(), r.Client, c) },
		func() error { return pki.EnsureMemberCertificate(t.Context(), r.Client, c, "db-1") },
		func() error {
			return workload.ApplyServices(t.Context(), r.Client, c, []corev1.ServicePort{{Name: "client", Port: 2379},
				{Name: "peer", Port: 2380}})
		},
		func() error { return workload.ApplyBudget(t.Context(), r.Client, c, 1) },
		func() error { return workload.ApplyVolume(t.Context(), r.Client, c, "db-1") },
		func() error { _, err := workload.Apply(t.Context(), r.Client, w); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}

// until observes until the condition holds.
func (r *real) until(t *testing.T, c *v1alpha1.DatabaseCluster, what string,
	ok func(observe.Facts) bool) observe.Facts {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		f, err := observe.Read(ctx, r.Client, c, observe.Rendered{})
		if err != nil {
			t.Fatal(err)
		}
		if ok(f) {
			return f
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %+v", what, f)
		}
	}
}

// versions are the resource versions of everything that was applied.
func (r *real) versions(t *testing.T) string {
	t.Helper()
	var out []string
	services, err := r.plain.CoreV1().Services(r.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range services.Items {
		out = append(out, o.Name+"="+o.ResourceVersion)
	}
	secrets, err := r.plain.CoreV1().Secrets(r.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range secrets.Items {
		out = append(out, o.Name+"="+o.ResourceVersion)
	}
	claims, err := r.plain.CoreV1().PersistentVolumeClaims(r.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range claims.Items {
		out = append(out, o.Name+"="+o.ResourceVersion)
	}
	w, err := r.plain.AppsV1().StatefulSets(r.namespace).Get(t.Context(), "db-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(out, fmt.Sprintf("workload=%s generation=%d", w.ResourceVersion, w.Generation)), " ")
}

func running(f observe.Facts) bool { return f.Member("db-1").Pod.Running }

func TestRealClusterObjects(t *testing.T) {
	r := onRealCluster(t)
	c, w := r.create(t)
	r.apply(t, c, w)
	before := r.until(t, c, "the member runs", running)
	if !before.Certificates || !before.Services || before.Budget == nil || len(before.Foreign) > 0 {
		t.Errorf("facts %+v", before)
	}
	// Controllers write statuses for a moment after the pod runs.
	var written, again string
	for range 10 {
		written = r.versions(t)
		r.apply(t, c, w)
		if again = r.versions(t); again == written {
			break
		}
	}
	if again != written {
		t.Errorf("applying the same wrote something:\n%s\n%s", written, again)
	}
	if err := workload.DisableBootstrap(t.Context(), r.Client, r.namespace, "db-1",
		func(p corev1.PodTemplateSpec) corev1.PodTemplateSpec {
			p.Spec.Containers[0].Command = append(p.Spec.Containers[0].Command, "--initial-cluster-state=existing")
			return p
		}); err != nil {
		t.Fatal(err)
	}
	pod := before.Member("db-1").Pod
	if err := workload.DeletePod(t.Context(), r.Client, r.namespace, "db-1-0", "0000-not-it"); err != nil {
		t.Fatal(err)
	}
	after := r.until(t, c, "the seal shows", func(f observe.Facts) bool { return !f.Member("db-1").Workload.Bootstrap })
	if got := after.Member("db-1").Pod; got.UID != pod.UID || got.Terminating {
		t.Errorf("the pod was touched: %+v, was %+v", got, pod)
	}
	if err := workload.DeleteClusterObjects(t.Context(), r.Client, c); err != nil {
		t.Fatal(err)
	}
	gone := r.until(t, c, "all but the volume is gone", func(f observe.Facts) bool {
		m := f.Member("db-1")
		return !m.Workload.Exists && !m.Pod.Exists && !f.Services && !f.Certificates && f.Budget == nil
	})
	if v := gone.Member("db-1").Volume; !v.Bound || v.Token != "t1" {
		t.Errorf("volume %+v", v)
	}
	if err := r.store.DeleteCluster(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestRealClusterDial(t *testing.T) {
	r := onRealCluster(t)
	c, w := r.create(t)
	r.apply(t, c, w)
	d := dial.NewDialer(r.Client, portforward.New(r.Client))
	defer func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	f := r.until(t, c, "the member runs", running)
	r.serves(t, c, d)
	refused, err := d.DialPod(t.Context(), r.namespace, "db-1-0", 1)
	if err == nil {
		_, err = refused.Read(make([]byte, 1))
		_ = refused.Close()
	}
	var why *portforward.RefusedError
	if !errors.As(err, &why) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a port where nothing listens: %v", err)
	}
	if err := workload.DeletePod(t.Context(), r.Client, r.namespace, "db-1-0", f.Member("db-1").Pod.UID); err != nil {
		t.Fatal(err)
	}
	r.until(t, c, "the successor runs", func(now observe.Facts) bool {
		return running(now) && now.Member("db-1").Pod.UID != f.Member("db-1").Pod.UID
	})
	r.serves(t, c, d)
	if _, err := d.DialPod(t.Context(), r.namespace, "nobody", 1); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("no such pod: %v, want ErrNotFound", err)
	}
}

// serves asks two questions at once until both are answered.
func (r *real) serves(t *testing.T, c *v1alpha1.DatabaseCluster, d *dial.Dialer) {
	t.Helper()
	h := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialPod(ctx, r.namespace, "db-1-0", 2379)
		}}}
	r.until(t, c, "both streams answer", func(observe.Facts) bool {
		answers := make(chan error, 2)
		for range cap(answers) {
			go func() {
				resp, err := h.Get("http://db-1/version")
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				answers <- err
			}()
		}
		return errors.Join(<-answers, <-answers) == nil
	})
}

func TestRealClusterLease(t *testing.T) {
	r := onRealCluster(t)
	first, err := lease.Acquire(t.Context(), r.Client, r.namespace, "db", lease.Cluster, lease.Options{Operation: "scale"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = lease.Acquire(t.Context(), r.Client, r.namespace, "db", lease.Cluster, lease.Options{})
	if !errors.Is(err, lease.ErrHeld) || !strings.Contains(err.Error(), "scale") {
		t.Errorf("second: %v, want ErrHeld", err)
	}
	if err := first.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := lease.Acquire(t.Context(), r.Client, r.namespace, "db", lease.Cluster, lease.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRealClusterWhoami(t *testing.T) {
	r := onRealCluster(t)
	if r.Whoami(t.Context()) == "" {
		t.Error("the API server does not say who we are")
	}
	if ahead := time.Since(r.Now()); ahead.Abs() > 2*time.Second {
		t.Logf("the API server's clock is %v behind ours", ahead)
	}
}
