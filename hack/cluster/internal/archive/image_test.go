package archive

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// written writes an image around a fake program and reads it back.
func written(t *testing.T, image Image) v1.Image {
	t.Helper()
	file := filepath.Join(t.TempDir(), "deep", "image.tar")
	if err := image.Write(file); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(image.Name)
	if err != nil {
		t.Fatal(err)
	}
	read, err := tarball.ImageFromPath(file, &tag)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// program makes an executable file.
func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("program "+name), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// files lists what is in an image.
func files(t *testing.T, image v1.Image) map[string]*tar.Header {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	found := map[string]*tar.Header{}
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimSuffix(header.Name, "/")] = header
	}
}

func TestPlugin(t *testing.T) {
	image := written(t, Plugin("dbop.test/dbop-dev/kubectl-dbop:dev", program(t, "kubectl-dbop"),
		program(t, "dbop-agent")))
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != "/usr/local/bin/kubectl-dbop" {
		t.Errorf("config %+v", config.Config)
	}
	found := files(t, image)
	for path, mode := range map[string]int64{
		"usr/local/bin/kubectl-dbop": 0o755, "usr/local/bin/dbop-agent": 0o755, "tmp": 0o1777, "etc/passwd": 0o644, "etc/ssl/certs": 0o755,
	} {
		header := found[path]
		if header == nil || header.Mode != mode {
			t.Errorf("%s: %+v, want mode %o", path, header, mode)
		}
	}
	if home := found["home/nonroot"]; home == nil || home.Uid != NonRoot {
		t.Errorf("home of the user: %+v", home)
	}
}

func TestEtcdHasTheLayoutOfTheOfficialImage(t *testing.T) {
	cache := t.TempDir()
	at := site.Site{Cache: cache}
	if err := os.MkdirAll(at.Bin("etcd-3.6"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, binary := range []string{"etcd", "etcdctl", "etcdutl"} {
		if err := os.WriteFile(at.Bin("etcd-3.6", binary), []byte(binary), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	spec := etcd(at, "etcd-3.6")
	if spec.Name != "dbop.test/etcd-development/etcd:v3.6.16" {
		t.Errorf("name %s", spec.Name)
	}
	image := written(t, spec)
	found := files(t, image)
	for _, path := range []string{"usr/local/bin/etcd", "usr/local/bin/etcdctl", "usr/local/bin/etcdutl", "var/lib/etcd"} {
		if found[path] == nil {
			t.Errorf("%s is missing", path)
		}
	}
	for _, path := range []string{"bin/sh", "usr/bin/sh"} {
		if found[path] != nil {
			t.Errorf("there is a shell, %s: the official image has none", path)
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Config.Entrypoint) != 0 || len(config.Config.Cmd) != 1 || config.Config.User != "" {
		t.Errorf("config %+v", config.Config)
	}
}

func TestEqualContentGivesEqualArchives(t *testing.T) {
	image := Plugin("dbop.test/x:dev", program(t, "kubectl-dbop"))
	var archives [2][]byte
	for i := range archives {
		file := filepath.Join(t.TempDir(), "x.tar")
		if err := image.Write(file); err != nil {
			t.Fatal(err)
		}
		var err error
		if archives[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two archives of the same program differ")
	}
}

func TestWriteRefusesShortNames(t *testing.T) {
	if err := Plugin("etcd", program(t, "etcd")).Write(filepath.Join(t.TempDir(), "x.tar")); err == nil {
		t.Error("a name without registry would be one of docker.io")
	}
}

// TestVersionsArePinned keeps the tags of the images in step with what the
// modules beside them build.
func TestVersionsArePinned(t *testing.T) {
	for minor, version := range etcdVersions {
		pinned, err := os.ReadFile(filepath.Join("..", "..", "images", minor, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, module := range []string{"server", "etcdctl", "etcdutl"} {
			if !strings.Contains(string(pinned), "go.etcd.io/etcd/"+module+"/v3 "+version) {
				t.Errorf("%s does not pin %s to %s, as the image's tag says", minor, module, version)
			}
		}
	}
}
