package deploy

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// TestManifestsAreStrict: every field of every manifest is one that its kind
// has, as the API server would find with --validate=strict. It asks the types
// themselves, and so needs neither a server nor the network.
func TestManifestsAreStrict(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	read := func(name string) string {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	check := func(text string) error {
		var all []error
		n := 0
		for r := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; n++ {
			one, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if _, _, err := decoder.Decode(one, nil, nil); err != nil {
				all = append(all, err)
			}
		}
		if n == 0 {
			all = append(all, io.ErrUnexpectedEOF)
		}
		return errors.Join(all...)
	}
	for _, name := range []string{"install.yaml", "rbac/backup.yaml", "rbac/operate.yaml", "rbac/repository.yaml",
		"rbac/view.yaml"} {
		if err := check(read(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := check(strings.Replace(read("install.yaml"), "minAvailable:", "minAvaliable:", 1)); err == nil ||
		!strings.Contains(err.Error(), "minAvaliable") {
		t.Errorf("a field that does not exist is found: %v", err)
	}
}
