package control

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// TestFilesOfComponents checks that every file that a component is told to
// read is made beforehand.
func TestFilesOfComponents(t *testing.T) {
	at := site.Site{State: t.TempDir(), Cache: "/cache"}
	if err := Prepare(at); err != nil {
		t.Fatal(err)
	}
	dns, err := coreDNS(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []process.Spec{etcd(at), apiServer(at), controllerManager(at), scheduler(at), provisioner(at), dns} {
		if !slices.Contains(Components, spec.Name) {
			t.Errorf("%s is not among the components", spec.Name)
		}
		for _, arg := range spec.Args {
			flag, path, _ := strings.Cut(arg, "=")
			if !strings.HasPrefix(path, at.State) || strings.HasSuffix(flag, "dir") {
				continue
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s %s: %v", spec.Name, arg, err)
			}
		}
	}
}

func TestCorefileDeniesLast(t *testing.T) {
	content := string(corefile(site.Site{State: "/state"}))
	first, second, ok := strings.Cut(content, "\n}\n")
	if !ok || !strings.Contains(first, "kubernetes cluster.local") || strings.Contains(first, "template") || !strings.Contains(second, "NXDOMAIN") {
		t.Errorf("the denial must have a block of its own:\n%s", content)
	}
}

func TestManifestIsYAML(t *testing.T) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	kinds := map[string]int{}
	for {
		var object unstructured.Unstructured
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds[object.GetKind()]++
	}
	if kinds["StorageClass"] != 1 || kinds["ClusterRole"] == 0 || kinds["ClusterRoleBinding"] != kinds["ClusterRole"] {
		t.Errorf("%v", kinds)
	}
}

func TestAdminKubeconfig(t *testing.T) {
	at := site.Site{State: t.TempDir()}
	if err := Prepare(at); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", at.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != site.APIServer() {
		t.Errorf("server %s", config.Host)
	}
}
