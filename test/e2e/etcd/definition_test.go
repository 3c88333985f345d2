//go:build e2e

package etcd

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// leftAloneFor is how long nothing may happen to a database whose object is
// missing. The mistake that this test is about recorded a deletion after 5 s
// and stopped the pods within 10 s.
const leftAloneFor = 12 * time.Second

// TestMissingObjectsEndNothing: a person reinstalls the operator, replaces its
// definition or puts a namespace back from an export, with an operator in a pod
// and a client that writes. The object asks for its data to be dropped with it,
// so that one misunderstanding costs everything.
func TestMissingObjectsEndNothing(t *testing.T) {
	s := newLoneScene(t, "opdef", "my-db")
	var others []string // of the operator, and of a copy of the cluster
	for range 2 {
		ns, err := s.site.CreateNamespace(s.ctx, "e2e-opdef")
		s.ok(err)
		others = append(others, ns)
		t.Cleanup(func() {
			if err := s.site.DeleteNamespace(context.WithoutCancel(s.ctx), ns, goneWithin); err != nil {
				t.Error(err)
			}
		})
	}
	placed := []string{"--operator-namespace", others[0], "--watch", s.ns, "--watch", others[1]}
	install := append([]string{"operator", "install", "--replicas", "1"}, placed...)
	s.must(install...)
	c := s.custom()
	apply := func() {
		c.wanted(s.ns, "my-db", 3,
			func(spec *v1alpha1.DatabaseClusterSpec) { spec.DeletionPolicy = v1alpha1.DeletionPurge })
	}
	apply()
	c.ready("my-db", 3)
	l := s.underLoad("my-db", torture.Seed(t))
	pods, volumes := s.databasePods("my-db"), s.volumeIDs()
	same := func(what string) {
		t.Helper()
		if now := s.databasePods("my-db"); !maps.Equal(pods, now) {
			t.Errorf("%s: pods before %v, after %v", what, pods, now)
		}
		if now := s.volumeIDs(); !maps.Equal(volumes, now) {
			t.Errorf("%s: volumes before %v, after %v", what, volumes, now)
		}
		if n := strings.Count(s.must("history", "my-db").Stdout, "delete"); n != 0 {
			t.Fatalf("%s: it was deleted", what)
		}
	}
	// alone: the object is missing, and everybody can see it.
	alone := func(what string) {
		t.Helper()
		time.Sleep(leftAloneFor)
		same(what)
		s.says(s.try("status", "my-db"), "databasecluster my-db is missing")
	}
	file := func(name, text string) string {
		path := filepath.Join(s.home, name)
		s.ok(os.WriteFile(path, []byte(text), 0o600))
		return path
	}

	s.mustKubectl("replace", "--force", "-f", s.site.Root+"/deploy/crd/dbop.dev_databaseclusters.yaml")
	alone("the definition was replaced")
	apply()
	c.readyIn(s.ns, "my-db")
	same("applied again after the definition was replaced")

	manifests := file("install.yaml", s.must(append(install, "--dry-run=client")...).Stdout)
	s.cluster("delete", "-f", manifests)
	s.cluster("apply", "--server-side", "-f", manifests)
	s.ok(s.operatorReady(others[0]))
	alone("the operator was deleted and applied")
	apply()
	c.readyIn(s.ns, "my-db")

	record := s.kubectl("get", "configmap", "my-db.dbop", "-o", "yaml").Stdout
	s.cluster("create", "-n", others[1], "-f", file("copy.yaml",
		strings.ReplaceAll(record, "namespace: "+s.ns, "namespace: "+others[1])))
	time.Sleep(leftAloneFor)
	same("a copy of its record is elsewhere")

	says := s.must(append([]string{"operator", "uninstall", "--definitions", "--yes"}, placed...)...)
	s.says(says, s.ns+"/my-db released")
	s.must(install...)
	time.Sleep(leftAloneFor)
	same("uninstalled and installed again")
	s.must("operator", "adopt", "my-db")
	c.readyIn(s.ns, "my-db")
	same("adopted")
	s.must("operator", "release", "my-db")
	l.end()
	s.must(append([]string{"operator", "uninstall", "--yes"}, placed...)...)
}

// cluster runs kubectl without a namespace.
func (s *scene) cluster(args ...string) {
	s.Helper()
	r, err := s.site.Kubectl(s.home).Run(s.ctx, args...)
	s.ok(err)
	if r.Code != 0 {
		s.Fatal(r)
	}
}

// volumeIDs are the UIDs of the claims of the namespace, by name.
func (s *scene) volumeIDs() map[string]string {
	s.Helper()
	claims, err := s.site.Client.CoreV1().PersistentVolumeClaims(s.ns).List(s.ctx, metav1.ListOptions{})
	s.ok(err)
	out := map[string]string{}
	for _, claim := range claims.Items {
		out[claim.Name] = string(claim.UID)
		if claim.DeletionTimestamp != nil {
			out[claim.Name] += ", going"
		}
	}
	return out
}

// operatorReady waits for the pods of the operator in that namespace.
func (s *scene) operatorReady(namespace string) error {
	return harness.Until(s.ctx, readyWithin, "the operator to be ready", func(ctx context.Context) error {
		d, err := s.site.Client.AppsV1().Deployments(namespace).Get(ctx, "dbop-operator", metav1.GetOptions{})
		if err == nil && (d.Status.ReadyReplicas == 0 || d.Status.ObservedGeneration != d.Generation) {
			err = errors.New("no pod is ready")
		}
		return err
	})
}
