package dist

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/release/krew"
)

const archiveName = "kubectl-dbop_v1.2.3_linux_amd64.tar.gz"

// program is a real one, of Linux: how it was built is read out of it. It is
// the release tool itself, which is small.
func program(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl-dbop")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path,
		"github.com/dbop-dev/kubectl-dbop/hack/release")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// made is a release that nothing is wrong with, of one platform.
type made struct {
	t        *testing.T
	r        *Release
	manifest string
	files    map[string]string
}

func (m *made) write(path, content string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func release(t *testing.T, program []byte) *made {
	t.Helper()
	root := t.TempDir()
	source, dir, manifests := filepath.Join(root, "source"), filepath.Join(root, "dist"), filepath.Join(root, "manifests")
	m := &made{t: t, manifest: filepath.Join(dir, "dbop.yaml"), files: map[string]string{"kubectl-dbop": string(program)}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		m.files[name] = "the text of " + name
		m.write(filepath.Join(source, name), m.files[name])
	}
	for _, name := range []string{"kubectl-dbop.bash", "kubectl-dbop.zsh", "kubectl-dbop.fish", "kubectl-dbop.ps1",
		"kubectl_complete-dbop"} {
		m.files["completions/"+name] = "a script"
	}
	m.files["man/man1/kubectl-dbop.1"], m.files["man/man1/kubectl-dbop-create.1"] = ".TH", ".TH"
	m.write(filepath.Join(source, ".goreleaser.yaml"), "builds: [{binary: kubectl-dbop, goos: [linux], goarch: [amd64]}, "+
		"{binary: dbop-agent, goos: [linux], goarch: [amd64]}]")
	recipe, err := os.ReadFile(filepath.Join("..", "image", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	m.write(filepath.Join(source, "hack", "release", "image", "Dockerfile"), string(recipe))
	template, err := os.ReadFile(filepath.Join("..", "..", "..", "krew", "dbop.tmpl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m.write(filepath.Join(source, "krew", "dbop.tmpl.yaml"), string(template))
	for _, at := range []string{filepath.Join(source, "deploy", "crd"), manifests} {
		m.write(filepath.Join(at, "kind.yaml"), "kind: CustomResourceDefinition")
	}
	m.write(filepath.Join(manifests, "install.yaml"), "image: ghcr.io/dbop-dev/kubectl-dbop:v1.2.3\n")
	m.write(filepath.Join(dir, "metadata.json"), `{"version": "1.2.3"}`)
	packages := []string{"kubectl-dbop_v1.2.3_linux_amd64.deb", "kubectl-dbop_v1.2.3_linux_amd64.rpm"}
	list := []map[string]string{{"name": archiveName, "type": "Archive", "goos": "linux", "goarch": "amd64"},
		{"name": "kubectl-dbop", "type": "Binary", "goos": "linux", "goarch": "amd64", "path": "dist/plugin/kubectl-dbop"},
		{"name": "dbop-agent", "type": "Binary", "goos": "linux", "goarch": "amd64", "path": "built/dbop-agent"}}
	m.write(filepath.Join(root, "built", "dbop-agent"), string(program))
	for _, name := range packages {
		m.write(filepath.Join(dir, name), "a package")
		list = append(list, map[string]string{"name": name, "type": "Linux Package"})
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	m.write(filepath.Join(dir, "artifacts.json"), string(raw))
	m.r = &Release{Source: source, Dir: dir, Manifests: manifests}
	m.pack()
	return m
}

// pack packs the files, and makes everything again that follows from them.
func (m *made) pack() {
	m.t.Helper()
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err != nil {
		m.t.Fatal(err)
	}
	w := tar.NewWriter(packed)
	for name, content := range m.files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)),
			Typeflag: tar.TypeReg}); err != nil {
			m.t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		m.t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		m.t.Fatal(err)
	}
	m.write(filepath.Join(m.r.Dir, archiveName), out.String())
	if sbom, err := SBOM(filepath.Join(m.r.Dir, archiveName), "v1.2.3", time.Unix(0, 0)); err == nil {
		m.write(filepath.Join(m.r.Dir, archiveName+sbomTail), string(sbom))
	}
	var sums strings.Builder
	for _, at := range []string{m.r.Dir, m.r.Manifests} {
		found, err := filepath.Glob(filepath.Join(at, "*"))
		if err != nil {
			m.t.Fatal(err)
		}
		for _, path := range found {
			sum, err := krew.Sum(path)
			if err != nil {
				m.t.Fatal(err)
			}
			sums.WriteString(sum + "  " + filepath.Base(path) + "\n")
		}
	}
	m.write(filepath.Join(m.r.Dir, Checksums), sums.String())
	r, err := Read(m.r.Source, m.r.Dir, m.r.Manifests)
	if err != nil {
		m.t.Fatal(err)
	}
	m.r = r
	raw, err := r.Manifest()
	if err != nil {
		m.t.Fatal(err)
	}
	m.write(m.manifest, string(raw))
}

// change replaces words in a file.
func (m *made) change(path, from, to string) {
	m.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(raw), from) {
		m.t.Fatalf("%q is not in %s: %v", from, path, err)
	}
	m.write(path, strings.Replace(string(raw), from, to, 1))
}

// TestCheck seeds one fault at a time.
func TestCheck(t *testing.T) {
	t.Parallel()
	binary := program(t)
	for name, c := range map[string]struct {
		harm func(*made)
		want string
	}{
		"nothing wrong": {},
		"a wrong sha256": {func(m *made) { m.change(m.manifest, m.r.Archives[0].SHA256, strings.Repeat("f", 64)) },
			"the krew manifest says sha256 ffff"},
		"a wrong sum": {func(m *made) { m.change(filepath.Join(m.r.Dir, Checksums), m.r.Archives[0].SHA256, "0") },
			`checksums.txt says "0"`},
		"no licence": {func(m *made) { delete(m.files, "LICENSE"); m.pack() }, "LICENSE is missing"},
		"another licence": {func(m *made) { m.files["LICENSE"] = "proprietary"; m.pack() },
			"LICENSE is missing or not that of the tree"},
		"no completion": {func(m *made) { delete(m.files, "completions/kubectl-dbop.fish"); m.pack() },
			"kubectl-dbop.fish is missing"},
		"no manual": {func(m *made) { m.files["man/man1/kubectl-dbop.1"] = ""; m.pack() },
			"kubectl-dbop.1 is missing or empty"},
		"a program of something": {func(m *made) { m.files["kubectl-dbop"] = "#!/bin/sh"; m.pack() },
			"read how the program was built"},
		"one platform more": {func(m *made) {
			m.change(filepath.Join(m.r.Source, ".goreleaser.yaml"), "[amd64]", "[amd64, arm64]")
		}, "goreleaser builds for [linux/amd64 linux/arm64]"},
		"another system": {func(m *made) {
			m.change(filepath.Join(m.r.Dir, "artifacts.json"), `"goos":"linux"`, `"goos":"darwin"`)
			m.pack()
		}, "built with GOOS=linux, not darwin"},
		"another SBOM": {func(m *made) { m.change(filepath.Join(m.r.Dir, archiveName+sbomTail), "stdlib", "nothing") },
			"the SBOM does not say"},
		"no SBOM": {func(m *made) { _ = os.Remove(filepath.Join(m.r.Dir, archiveName+sbomTail)) }, sbomTail},
		"no rpm": {func(m *made) { _ = os.Remove(filepath.Join(m.r.Dir, "kubectl-dbop_v1.2.3_linux_amd64.rpm")) },
			".rpm is missing"},
		"another image": {func(m *made) {
			m.change(filepath.Join(m.r.Manifests, "install.yaml"), "v1.2.3",
				"v1.2.2")
			m.pack()
		}, "install.yaml is missing or runs another image"},
		"a stale kind": {func(m *made) { m.write(filepath.Join(m.r.Source, "deploy", "crd", "kind.yaml"), "newer") },
			"kind.yaml is not what the tree has"},
		"no agent": {func(m *made) {
			m.change(filepath.Join(m.r.Dir, "artifacts.json"), `"name":"dbop-agent"`, `"name":"agent"`)
			m.pack()
		}, "dbop-agent is there for [], goreleaser builds it for [linux/amd64]"},
		"an agent of something": {func(m *made) {
			m.write(filepath.Join(m.r.Dir, "..", "built", "dbop-agent"), "#!/bin/sh")
		}, "dbop-agent for linux/amd64: read how the program was built"},
		"an image without the agent": {func(m *made) {
			m.change(filepath.Join(m.r.Source, "hack", "release", "image", "Dockerfile"), "COPY $TARGETPLATFORM/dbop-agent", "#")
		}, "the image has no dbop-agent"},
		"a tag of nothing": {func(m *made) { m.r.Version = "v1.2" }, "not semver"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := release(t, binary)
			if c.harm != nil {
				c.harm(m)
			}
			err := Check(m.r, m.manifest)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "%!") {
				t.Errorf("badly formatted: %v", err)
			}
		})
	}
}

// TestPlatforms: what the project releases is what the krew index knows.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	got, err := Platforms(filepath.Join("..", "..", ".."))
	if want := []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64",
		"windows/arm64"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
