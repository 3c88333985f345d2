package pod

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

var update = flag.Bool("update", false, "write the golden files again")

func cluster() *v1alpha1.DatabaseCluster {
	return &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "prod"},
		Spec: v1alpha1.DatabaseClusterSpec{
			Storage: v1alpha1.Storage{Size: resource.MustParse("8Gi")},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
			},
		},
		Status: v1alpha1.DatabaseClusterStatus{Bootstrap: &v1alpha1.Bootstrap{Token: "db-token"}},
	}
}

// TestAddressesAreOfThePodsNamespace: a copy of a pod in another namespace must
// not come to the members of this one as one of them.
func TestAddressesAreOfThePodsNamespace(t *testing.T) {
	c := cluster()
	pod, err := Render(engine.PodInput{Cluster: c, Member: "db-1", Image: "x", Version: "3.6.16",
		Peers: []string{"db-1", "db-2"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range pod.Container.Args {
		if strings.Contains(arg, c.Namespace) {
			t.Errorf("%s names the namespace", arg)
		}
	}
	if c.Namespace != "prod" {
		t.Errorf("the cluster is in %s now", c.Namespace)
	}
}

func TestPod(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		golden string
		change func(*engine.PodInput)
	}{
		{"3.5-founding", func(in *engine.PodInput) { in.Version = "3.5.35" }},
		{"3.5-without-livez", func(in *engine.PodInput) { in.Version = "3.5.10" }},
		{"3.6-founding", func(in *engine.PodInput) { in.Version = "3.6.16" }},
		{"3.6-joining", func(in *engine.PodInput) {
			in.Version, in.Bootstrap, in.Member, in.Peers = "3.6.16", false, "db-2", []string{"db-1", "db-2"}
		}},
		{"3.6-options", func(in *engine.PodInput) {
			in.Version = "3.6.16"
			in.Cluster.Spec.Config = map[string]string{
				"auto-compaction-retention": "10m", "snapshot-count": "5000", flags.QuotaOption: "1073741824",
				flags.FeatureGates: "LeaseCheckpoint=true",
			}
		}},
		{"3.7-plain-text", func(in *engine.PodInput) { in.Version, in.Cluster.Spec.TLS.Disabled = "3.7.3", true }},
	} {
		t.Run(c.golden, func(t *testing.T) {
			t.Parallel()
			in := engine.PodInput{Cluster: cluster(), Member: "db-1", Image: "registry/etcd:x", Bootstrap: true,
				Peers: []string{"db-1"}}
			c.change(&in)
			pod, err := Render(in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(pod)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "pod-"+c.golden+".yaml")
			if *update {
				if err := os.WriteFile(path, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("rendered differently (-golden +now), -update writes it again:\n%s", diff)
			}
		})
	}
}

func TestPodNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		change     func(*engine.PodInput)
	}{
		{"itself among the peers", "not among its peers", func(in *engine.PodInput) { in.Peers = []string{"db-2"} }},
		{"a token", "no token", func(in *engine.PodInput) { in.Cluster.Status.Bootstrap = nil }},
		{"a version", "parse", func(in *engine.PodInput) { in.Version = "" }},
		{"fitting options", "removed", func(in *engine.PodInput) {
			in.Version, in.Cluster.Spec.Config = "3.7.3", map[string]string{"experimental-memory-mlock": "true"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := engine.PodInput{Cluster: cluster(), Member: "db-1", Version: "3.6.16", Peers: []string{"db-1"}}
			c.change(&in)
			if _, err := Render(in); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	got := map[string]int32{}
	for _, p := range Ports() {
		got[p.Name] = p.Port
	}
	if diff := cmp.Diff(map[string]int32{"client": 2379, "peer": 2380, "metrics": 2381}, got); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
}

func TestDisableBootstrap(t *testing.T) {
	t.Parallel()
	pod, err := Render(engine.PodInput{Cluster: cluster(), Member: "db-1", Version: "3.6.16", Bootstrap: true,
		Peers: []string{"db-1"}})
	if err != nil {
		t.Fatal(err)
	}
	other := corev1.Container{Name: "sidecar", Args: []string{"--initial-cluster-state=new"}}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{pod.Container, other}}}
	before := template.DeepCopy()
	sealed := DisableBootstrap(template)
	if diff := cmp.Diff(*before, template); diff != "" {
		t.Errorf("sealing changed its input:\n%s", diff)
	}
	want := template.DeepCopy()
	for i, arg := range want.Spec.Containers[0].Args {
		if arg == "--initial-cluster-state=new" {
			want.Spec.Containers[0].Args[i] = "--initial-cluster-state=existing"
		}
	}
	if diff := cmp.Diff(*want, sealed); diff != "" {
		t.Errorf("sealed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sealed, DisableBootstrap(sealed)); diff != "" {
		t.Errorf("sealing twice:\n%s", diff)
	}
}
