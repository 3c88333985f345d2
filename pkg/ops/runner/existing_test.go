package runner

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func founding(members int, change func(*v1alpha1.DatabaseClusterSpec)) planner.Request {
	c := opstest.Wanted(members).Cluster
	change(&c.Spec)
	return planner.Request{Cluster: c, Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbCreate,
		SizeParameters: v1alpha1.SizeParameters{Members: int32(members)}}}
}

// TestNameTaken: a repeat that asks for what the cluster is not is refused, and names that; what it does not ask for
// may have been changed since.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	memory := func(amount string) corev1.ResourceRequirements {
		list := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(amount)}
		return corev1.ResourceRequirements{Requests: list, Limits: list}
	}
	class := "fast"
	for name, test := range map[string]struct {
		have, want func(*v1alpha1.DatabaseClusterSpec)
		text       string
		unformed   bool
	}{
		"the same": {},
		"an option that was set since": {have: func(s *v1alpha1.DatabaseClusterSpec) {
			s.Config = map[string]string{"speed": "high"}
		}},
		"a volume that grew since": {have: func(s *v1alpha1.DatabaseClusterSpec) {
			s.Storage.Size = resource.MustParse("2Gi")
		}, want: func(s *v1alpha1.DatabaseClusterSpec) { s.Storage.Size = resource.MustParse("1Gi") }},
		"a larger volume": {want: func(s *v1alpha1.DatabaseClusterSpec) { s.Storage.Size = resource.MustParse("2Gi") },
			text: "the size of a volume is 0 there, and 2Gi is asked for"},
		"another size before it forms": {unformed: true, have: func(s *v1alpha1.DatabaseClusterSpec) {
			s.Storage.Size = resource.MustParse("2Gi")
		}, want: func(s *v1alpha1.DatabaseClusterSpec) { s.Storage.Size = resource.MustParse("1Gi") },
			text: "the size of a volume is 2Gi there, and 1Gi is asked for"},
		"an option": {have: func(s *v1alpha1.DatabaseClusterSpec) { s.Config = map[string]string{"speed": "high"} },
			want: func(s *v1alpha1.DatabaseClusterSpec) { s.Config = map[string]string{"speed": "low", "depth": ""} },
			text: `option depth is not set there, and "" is asked for; option speed is high there, and low is asked for`},
		"memory": {have: func(s *v1alpha1.DatabaseClusterSpec) { s.Resources = memory("1Gi") },
			want: func(s *v1alpha1.DatabaseClusterSpec) { s.Resources = memory("2Gi") },
			text: "the limit of memory is 1Gi there, and 2Gi is asked for; the request of memory is 1Gi there"},
		"the same memory in another unit": {have: func(s *v1alpha1.DatabaseClusterSpec) { s.Resources = memory("1Gi") },
			want: func(s *v1alpha1.DatabaseClusterSpec) { s.Resources = memory("1024Mi") }},
		"no TLS": {want: func(s *v1alpha1.DatabaseClusterSpec) { s.TLS.Disabled = true },
			text: "TLS is on there, and off is asked for"},
		"TLS": {have: func(s *v1alpha1.DatabaseClusterSpec) { s.TLS.Disabled = true },
			text: "TLS is off there, and on is asked for"},
		"an issuer": {want: func(s *v1alpha1.DatabaseClusterSpec) {
			s.TLS.Issuer = &v1alpha1.Issuer{Kind: "ClusterIssuer", Name: "corporate"}
		}, text: "the issuer is not set there, and ClusterIssuer/corporate is asked for"},
		"a storage class before it forms": {unformed: true,
			want: func(s *v1alpha1.DatabaseClusterSpec) { s.Storage.ClassName = &class },
			text: "the storage class is not set there, and fast is asked for"},
		"routing": {want: func(s *v1alpha1.DatabaseClusterSpec) { s.Routing = v1alpha1.RoutingDirect },
			text: "the routing is Proxied there, and Direct is asked for"},
		"the default of routing": {want: func(s *v1alpha1.DatabaseClusterSpec) { s.Routing = v1alpha1.RoutingProxied }},
		"another engine before it forms": {unformed: true,
			want: func(s *v1alpha1.DatabaseClusterSpec) { s.Engine = "other" }, text: "stub 1.1.0 with 3 members"},
	} {
		found := opstest.Well(3).Cluster
		if test.unformed {
			found.Status.Bootstrap.ClusterID = ""
		}
		if test.have != nil {
			test.have(&found.Spec)
		}
		want := test.want
		if want == nil {
			want = func(*v1alpha1.DatabaseClusterSpec) {}
		}
		err := meetExisting(found, founding(3, want))
		if test.text == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		e, ok := errors.AsType[*ops.Error](err)
		if !ok || e.Kind != ops.Refused || e.Check != "exists" || !strings.Contains(e.Message, test.text) ||
			strings.Contains(e.Hint, "it holds no data yet") != test.unformed {
			t.Errorf("%s: got %#v, want %q", name, err, test.text)
		}
	}
}

// TestCorrectedCreation: a repeat with other options corrects a cluster that has yet to form, whichever write the
// process dies after, and does nothing to one that formed.
func TestCorrectedCreation(t *testing.T) {
	t.Parallel()
	options := func(value string) planner.Request {
		return founding(3, func(s *v1alpha1.DatabaseClusterSpec) { s.Config = map[string]string{"speed": value} })
	}
	for dies := range 6 {
		onShelf(t, func(sh *shelf, r *Runner) {
			s := opstest.Wanted(3)
			s.Operation = nil
			sh.cluster = nil
			w := newIdeal(s)
			*r = *newRunner(sh, w)
			w.calm = -1
			cut, stop := context.WithCancel(context.Background())
			w.perform = func(step ops.Step) error {
				if strings.HasPrefix(step.ID, "start-member") {
					stop()
				}
				return nil
			}
			if _, err := r.Run(cut, "shop", options("hihg")); ops.KindOf(err) != ops.Interrupted {
				t.Fatalf("the creation was not interrupted: %v", err)
			}
			first := sh.operations[0].Name
			w.perform, w.calm, sh.fuse = nil, 0, dies
			if _, err := r.Run(context.Background(), "shop", options("high")); err != nil && !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			sh.fuse = 1 << 30
			if _, err := r.Run(context.Background(), "shop", options("high")); err != nil && ops.KindOf(err) != ops.Unchanged {
				t.Fatal(err)
			}
			if got := sh.cluster.Spec.Config["speed"]; got != "high" || sh.cluster.Status.Bootstrap.ClusterID == "" {
				t.Errorf("dies after %d writes: speed is %q, %+v", dies, got, sh.cluster.Status.Bootstrap)
			}
			if n := len(sh.operations); n != 1 || sh.operations[0].Name != first {
				t.Errorf("dies after %d writes: %d records", dies, n)
			}
			_, err := r.Run(context.Background(), "shop", options("low"))
			if e, ok := errors.AsType[*ops.Error](err); !ok || e.Check != "exists" {
				t.Errorf("one that formed: %v", err)
			}
		})
	}
}

// TestCorrectionIsJudged: what is corrected is judged as what is new, and a cluster with a custom resource is corrected
// there.
func TestCorrectionIsJudged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(*v1alpha1.DatabaseCluster)
		change  func(*v1alpha1.DatabaseClusterSpec)
		check   string
	}{
		"an amount that is none": {change: func(s *v1alpha1.DatabaseClusterSpec) {
			s.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("-1")}
		}, check: "amount"},
		"with a custom resource": {prepare: func(c *v1alpha1.DatabaseCluster) {
			c.Annotations = map[string]string{v1alpha1.AnnotationCustom: "uid"}
		}, change: func(s *v1alpha1.DatabaseClusterSpec) { s.Config = map[string]string{"speed": "high"} }, check: "exists"},
	} {
		onShelf(t, func(sh *shelf, r *Runner) {
			sh.cluster = opstest.Wanted(3).Cluster
			sh.cluster.ResourceVersion = "0"
			if test.prepare != nil {
				test.prepare(sh.cluster)
			}
			active := opstest.Operation(v1alpha1.VerbCreate)
			active.Spec.Members, active.ResourceVersion = 3, "0"
			sh.operations = append(sh.operations, active)
			_, err := r.Run(context.Background(), "shop", founding(3, test.change))
			if e, ok := errors.AsType[*ops.Error](err); !ok || e.Check != test.check || sh.version != 0 {
				t.Errorf("%s: got %#v after %d writes, want %s", name, err, sh.version, test.check)
			}
		})
	}
}
