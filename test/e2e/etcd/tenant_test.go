//go:build e2e

package etcd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// askedWithin is how long a command may take to say that members are hostile.
const askedWithin = 20 * time.Second

// TestHostileTenant: a tenant who may write custom resources in one namespace
// runs an image that answers without an end, and names what is not theirs. All
// of it is refused or bounded, and the operator goes on for the others.
func TestHostileTenant(t *testing.T) {
	s := newScene(t, "tenant", "hostile", "mine", "password")
	image := s.hostileImage()
	bank, err := s.site.CreateNamespace(s.ctx, "e2e-tenant-bank")
	s.ok(err)
	t.Cleanup(func() { s.ok(s.site.DeleteNamespace(context.WithoutCancel(s.ctx), bank, goneWithin)) })
	s.must("operator", "install", "--replicas", "1", "--operator-namespace", bank, "--watch", s.ns, "--watch", bank)
	c, tenant := s.custom(), s.tenant()
	c.wanted(bank, "my-db", 1)
	c.readyIn(bank, "my-db")

	for _, name := range []string{"hostile", "hostile-too"} {
		tenant.wanted(s.ns, name, 3,
			func(spec *v1alpha1.DatabaseClusterSpec) { spec.Image, spec.TLS.Disabled = image, true })
	}
	s.within(readyWithin, "the hostile members to run", func() error {
		for _, name := range []string{"hostile", "hostile-too"} {
			if pods := s.databasePods(name); len(pods) < 3 {
				return fmt.Errorf("%d pods of %s", len(pods), name)
			}
		}
		return nil
	})
	tenant.refusedAll(bank)

	// The others are served meanwhile.
	began := time.Now()
	c.scaled(bank, "my-db", 3)
	c.scaled(bank, "my-db", 1)
	t.Logf("another cluster was scaled twice in %s", time.Since(began).Round(100*time.Millisecond))
	if r := s.try("status", "hostile"); r.Code == 0 || r.Duration > askedWithin {
		t.Errorf("hostile members are asked by a command:\n%s", r)
	}
	if ready := tenant.get("hostile").Status.Ready; !strings.HasPrefix(ready, "0/") {
		t.Errorf("hostile members are ready: %s", ready)
	}
	s.unharmed(bank)
}

// hostileImage is an image with test/hostile in place of etcd, on every node.
func (s *scene) hostileImage() string {
	s.Helper()
	machine, err := s.site.Machine()
	if err != nil {
		s.Skip(err)
	}
	program := filepath.Join(s.home, "bin", "etcd")
	build := harness.Command{Path: s.site.Tool("go", "").Path, Dir: s.site.Root,
		Env: map[string]string{"GOFLAGS": "-buildvcs=false", "CGO_ENABLED": "0"}}
	r, err := build.Run(s.ctx, "build", "-o", program, "./test/hostile")
	s.ok(err)
	if r.Code != 0 {
		s.Fatal(r)
	}
	image := "dbop.test/dbop-dev/hostile:dev"
	s.ok(machine.Cluster(s.ctx, "image", "--binary", program, "--name", image))
	return image
}

// tenant is a person with rights on custom resources of the scene's namespace, and no others.
func (s *scene) tenant() *custom {
	s.Helper()
	config := filepath.Join(s.home, "tenant.kubeconfig")
	s.ok(s.site.User(s.ctx, s.ns, "tenant", "", config))
	role := &rbacv1.Role{Rules: []rbacv1.PolicyRule{{APIGroups: []string{"dbop.dev"},
		Resources: []string{"databaseclusters", "databasebackups"},
		Verbs:     []string{"get", "list", "watch", "create", "update", "patch", "delete"}}}}
	role.Name = "tenant"
	_, err := s.site.Client.RbacV1().Roles(s.ns).Create(s.ctx, role, metav1.CreateOptions{})
	s.ok(err)
	binding := &rbacv1.RoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tenant"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "tenant", Namespace: s.ns}}}
	binding.Name = "tenant"
	_, err = s.site.Client.RbacV1().RoleBindings(s.ns).Create(s.ctx, binding, metav1.CreateOptions{})
	s.ok(err)
	rest, err := clientcmd.BuildConfigFromFlags("", config)
	s.ok(err)
	rest.QPS = -1
	as := s.custom()
	as.api, err = client.New(rest, client.Options{Scheme: as.api.Scheme()})
	s.ok(err)
	return as
}

// refusedAll asks for what belongs to others: what a field can't hold, the API
// server refuses; what it may not name, the operator does not read.
func (c *custom) refusedAll(other string) {
	c.Helper()
	for _, secret := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: "anothers"}, StringData: map[string]string{"username": "root",
			"password": "of-another-team"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "anothers-ca"},
			StringData: map[string]string{"tls.crt": "a certificate", "tls.key": "a key"}},
	} {
		_, err := c.site.Client.CoreV1().Secrets(c.ns).Create(c.ctx, secret, metav1.CreateOptions{})
		c.ok(err)
	}
	backup := c.backedUp()
	limited := "an Issuer of the cluster's namespace"
	named := map[string]struct {
		says   []string
		change func(*v1alpha1.DatabaseClusterSpec)
	}{
		"authority": {[]string{"anothers-ca", "kubectl label secret"},
			func(s *v1alpha1.DatabaseClusterSpec) { s.TLS.CASecret = "anothers-ca" }},
		"password": {[]string{"secret " + c.ns + "/anothers", "may not read"}, func(s *v1alpha1.DatabaseClusterSpec) {
			s.TLS.Disabled, s.Auth.Enabled = true, true
			s.RestoreFrom = &v1alpha1.RestoreSource{Repository: "pvc:backups", Backup: backup, RootSecret: "anothers"}
		}},
		"issuer": {[]string{limited}, func(s *v1alpha1.DatabaseClusterSpec) {
			s.TLS.Issuer = &v1alpha1.Issuer{Name: "company", Kind: "ClusterIssuer"}
		}},
		"foreign": {[]string{limited}, func(s *v1alpha1.DatabaseClusterSpec) {
			s.TLS.Issuer = &v1alpha1.Issuer{Name: "company", Group: "example.com"}
		}},
	}
	for name, row := range named {
		c.wanted(c.ns, name, 1, row.change)
	}
	for field, change := range map[string]func(*v1alpha1.DatabaseClusterSpec){
		"spec.tls.caSecret": func(s *v1alpha1.DatabaseClusterSpec) { s.TLS.CASecret = other + "/my-db-ca" },
		"spec.restoreFrom.rootSecret": func(s *v1alpha1.DatabaseClusterSpec) {
			s.RestoreFrom.RootSecret = other +
				"/my-db-root"
		},
		"spec.restoreFrom.repository": func(s *v1alpha1.DatabaseClusterSpec) {
			s.RestoreFrom.Repository = "dir:/var/run/secrets"
		},
	} {
		o := &v1alpha1.DatabaseCluster{Spec: *c.get("password").Spec.DeepCopy()}
		o.Name, o.Namespace = "refused", c.ns
		change(&o.Spec)
		if err := c.api.Create(c.ctx, o); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field) {
			c.Errorf("%s: %v", field, err)
		}
	}
	if err := c.api.Get(c.ctx, client.ObjectKey{Namespace: other, Name: "my-db"},
		&v1alpha1.DatabaseCluster{}); !apierrors.IsForbidden(err) {
		c.Errorf("a cluster of another namespace: %v", err)
	}
	c.asksBackup("of-others", "my-db", "Stalled", "my-db")
	for name, row := range named {
		c.told(name, row.says...)
	}
}

// told waits until an object says with all these words what it lacks.
func (c *custom) told(name string, words ...string) {
	c.Helper()
	c.within(readyWithin, name+" to be told", func() error {
		conditions := c.get(name).Status.Conditions
		for _, found := range conditions {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(found.Message, w) }) {
				return nil
			}
		}
		return fmt.Errorf("%q is not in %+v", words, conditions)
	})
}

// backedUp is a backup, in the claim backups, of a cluster of the tenant's that demands a password.
func (c *custom) backedUp() string {
	c.Helper()
	c.claim("backups")
	c.wanted(c.ns, "mine", 1, func(s *v1alpha1.DatabaseClusterSpec) {
		s.TLS.Disabled, s.Auth.Enabled, s.Backup.Repository = true, true, "pvc:backups"
	})
	c.readyIn(c.ns, "mine")
	return c.asksBackup("once", "mine", "Ready", "")
}

// asksBackup makes an object that asks for a backup, and waits for a condition of it.
func (c *custom) asksBackup(name, cluster, condition, says string) string {
	c.Helper()
	o := &v1alpha1.DatabaseBackup{Spec: v1alpha1.DatabaseBackupSpec{Cluster: cluster}}
	o.Name, o.Namespace = name, c.ns
	c.ok(c.api.Create(c.ctx, o))
	c.within(readyWithin, "backup "+name+" to be "+condition, func() error {
		if err := c.api.Get(c.ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		found := meta.FindStatusCondition(o.Status.Conditions, condition)
		if found == nil || found.Status != metav1.ConditionTrue || !strings.Contains(found.Message, says) {
			return fmt.Errorf("%+v", o.Status.Conditions)
		}
		return nil
	})
	return o.Status.Backup
}

// scaled has a cluster of another namespace get another size.
func (c *custom) scaled(namespace, name string, members int32) {
	c.Helper()
	in := *c
	there := *c.scene
	there.ns = namespace
	in.scene = &there
	s := in.patch(name, func(spec *v1alpha1.DatabaseClusterSpec) { spec.Members = members })
	c.ok(s)
	in.ready(name, int(members))
}

// unharmed asks that the operator's only pod never ended, and how much memory it has had.
func (s *scene) unharmed(namespace string) {
	s.Helper()
	pods, err := s.site.Client.CoreV1().Pods(namespace).List(s.ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=operator"})
	s.ok(err)
	if len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) != 1 {
		s.Fatalf("%d pods of the operator", len(pods.Items))
	}
	pod := pods.Items[0]
	if n := pod.Status.ContainerStatuses[0].RestartCount; n != 0 {
		s.Errorf("the operator restarted %d times: %+v", n, pod.Status.ContainerStatuses[0].LastTerminationState)
	}
	limit := pod.Spec.Containers[0].Resources.Limits.Memory().Value()
	r, err := s.site.Kubectl(s.home).Run(s.ctx, "get", "--raw", "/api/v1/namespaces/"+namespace+"/pods/"+pod.Name+
		":8080/proxy/metrics")
	s.ok(err)
	resident, err := gauge(r.Stdout, "process_resident_memory_bytes")
	s.ok(err)
	if resident == 0 || resident > float64(limit)/2 {
		s.Errorf("the operator has %.0f bytes of %d", resident, limit)
	}
	s.Logf("the operator has %.0f MiB of %d", resident/(1<<20), limit>>20)
}

// gauge is the value of a metric without labels.
func gauge(text, name string) (float64, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, errors.New("no metric " + name)
}
