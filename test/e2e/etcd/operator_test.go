//go:build e2e

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// readyWithin bounds one operation of an operator, taken over once.
const readyWithin = 2 * time.Minute

// custom is the custom resources of a scene.
type custom struct {
	*scene

	api client.Client
}

func (s *scene) custom() *custom {
	s.Helper()
	scheme := runtime.NewScheme()
	s.ok(v1alpha1.AddToScheme(scheme))
	api, err := client.New(s.site.Rest, client.Options{Scheme: scheme})
	s.ok(err)
	return &custom{scene: s, api: api}
}

func (c *custom) get(name string) *v1alpha1.DatabaseCluster {
	c.Helper()
	o := &v1alpha1.DatabaseCluster{}
	c.ok(c.api.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, o))
	return o
}

// patch changes what is wanted, as kubectl patch does.
func (c *custom) patch(name string, change func(*v1alpha1.DatabaseClusterSpec)) error {
	c.Helper()
	o := c.get(name)
	before := o.DeepCopy()
	change(&o.Spec)
	return c.api.Patch(c.ctx, o, client.MergeFrom(before))
}

// ready waits as kubectl wait does, and then asks etcd itself.
func (c *custom) ready(name string, members int) {
	c.Helper()
	c.readyBy(readyWithin, name, members)
}

// readyBy is ready with a bound of its own.
func (c *custom) readyBy(bound time.Duration, name string, members int) {
	c.Helper()
	began := time.Now()
	c.ok(harness.Until(c.ctx, bound, name+" to be ready", func(context.Context) error {
		o := &v1alpha1.DatabaseCluster{}
		if err := c.api.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, o); err != nil {
			return err // the API server may be away
		}
		ready := meta.FindStatusCondition(o.Status.Conditions, "Ready")
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != o.Generation ||
			o.Status.Members != int32(members) {
			return fmt.Errorf("it is %s: %+v", o.Status.Summary, o.Status.Conditions)
		}
		return nil
	}))
	c.Logf("ready after %s", time.Since(began).Round(100*time.Millisecond))
	c.healthy(name, members)
}

// installOperator runs the operator as a person does: in a pod, from the image of this build.
func (s *scene) installOperator() {
	s.Helper()
	s.must("operator", "install", "--operator-namespace", s.ns, "--watch", s.ns)
}

// TestOperator installs an operator and has it do what commands do otherwise.
func TestOperator(t *testing.T) {
	s := newScene(t, "operator", "my-db")
	s.installOperator()
	c := s.custom()
	c.wanted(s.ns, "my-db", 3)
	c.ready("my-db", 3)
	c.rules()

	db := s.dial("my-db")
	s.ok(harness.FillKeys(s.ctx, db, "operator/", 100, 64))
	s.destroy("my-db-2")
	s.ok(harness.Until(s.ctx, readyWithin, "the lost member to be replaced", func(context.Context) error {
		for line := range strings.Lines(s.must("history", "my-db").Stdout) {
			if strings.Contains(line, "replace-member") && strings.Contains(line, "Succeeded") {
				return nil
			}
		}
		return errors.New("it was not done yet")
	}))
	c.ready("my-db", 3)

	c.backsUp()

	// A wish that can't be is told, and correcting it is enough.
	s.ok(c.patch("my-db", func(spec *v1alpha1.DatabaseClusterSpec) { spec.Version = "3.7.3" }))
	s.ok(harness.Until(s.ctx, readyWithin, "the wish to be turned down", func(context.Context) error {
		if stalled := meta.FindStatusCondition(c.get("my-db").Status.Conditions, "Stalled"); stalled == nil ||
			stalled.Status != metav1.ConditionTrue || !strings.Contains(stalled.Message, "spec.backup.repository") {
			return fmt.Errorf("%+v", stalled)
		}
		return nil
	}))
	s.ok(c.patch("my-db", func(spec *v1alpha1.DatabaseClusterSpec) { spec.Waive = []string{"backup"} }))
	c.ready("my-db", 3)
	s.runs("my-db", "3.7")

	s.says(s.must("restart", "my-db"), "restarted")
	s.judge(s.try("delete", "my-db", "--yes", "--skip-backup"), 4, "kubectl delete dbc my-db")
	s.same100(db)

	s.ok(c.api.Delete(s.ctx, c.get("my-db")))
	s.ok(harness.Until(s.ctx, readyWithin, "the cluster to go", func(context.Context) error {
		if r := s.try("status", "my-db"); !strings.Contains(r.Stderr, "not found") {
			return fmt.Errorf("it is there: %s", r.Stdout)
		}
		return nil
	}))
	s.settledVolumes("my-db", 3)
}

// same100 counts the keys that were written before anything happened.
func (s *scene) same100(db *harness.Etcd) {
	s.Helper()
	keys, err := harness.ReadAll(s.ctx, db, "operator/")
	s.ok(err)
	if len(keys) != 100 {
		s.Errorf("%d of 100 keys are left", len(keys))
	}
}

// rules asks for what the API server must refuse, with field and reason.
func (c *custom) rules() {
	c.Helper()
	for _, row := range []struct {
		field, reason string
		change        func(*v1alpha1.DatabaseClusterSpec)
	}{
		{"spec.storage.size", "can't become smaller",
			func(s *v1alpha1.DatabaseClusterSpec) { s.Storage.Size = resource.MustParse("256Mi") }},
		{"spec.storage.className", "another storage class", func(s *v1alpha1.DatabaseClusterSpec) {
			s.Storage.ClassName = new(
				"other")
		}},
		{"spec.version", "upgraded one minor version at a time",
			func(s *v1alpha1.DatabaseClusterSpec) { s.Version = "3.8.0" }},
		{"spec.version", "downgraded one minor version at a time",
			func(s *v1alpha1.DatabaseClusterSpec) { s.Version = "3.4.30" }},
		{"spec.version", "must be a full one", func(s *v1alpha1.DatabaseClusterSpec) { s.Version = "3.6" }},
		{"spec.engine", "supported values", func(s *v1alpha1.DatabaseClusterSpec) { s.Engine = "other" }},
		{"spec.tls", "settled when it is created", func(s *v1alpha1.DatabaseClusterSpec) { s.TLS.Disabled = true }},
		{"spec.routing", "reach all members directly", func(s *v1alpha1.DatabaseClusterSpec) {
			s.Routing = v1alpha1.RoutingDirect
		}},
		{"spec.tls.issuer", "either an issuer or a secret", func(s *v1alpha1.DatabaseClusterSpec) {
			s.TLS.CASecret, s.TLS.Issuer = "mine", &v1alpha1.Issuer{Name: "corporate"}
		}},
		{"spec.restoreFrom", "restored when it is created", func(s *v1alpha1.DatabaseClusterSpec) {
			s.RestoreFrom = &v1alpha1.RestoreSource{Repository: "pvc:b", Backup: "b"}
		}},
		{"spec.members", "greater than or equal to 1", func(s *v1alpha1.DatabaseClusterSpec) { s.Members = 0 }},
		{"spec.waive", "supported values", func(s *v1alpha1.DatabaseClusterSpec) { s.Waive = []string{"all"} }},
	} {
		if err := c.patch("my-db", row.change); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), row.field) ||
			!strings.Contains(err.Error(), row.reason) {
			c.Errorf("%s: %v, want %q", row.field, err, row.reason)
		}
	}
	for _, name := range []string{strings.Repeat("a", v1alpha1.MaxNameLength+1), "3db"} {
		o := &v1alpha1.DatabaseCluster{Spec: c.get("my-db").Spec}
		o.Name, o.Namespace = name, c.ns
		if err := c.api.Create(c.ctx, o); !apierrors.IsInvalid(err) ||
			!strings.Contains(err.Error(), "the name of a cluster") {
			c.Errorf("name %s: %v", name, err)
		}
	}
}
