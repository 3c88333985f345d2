package krew

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sound is a manifest that nothing is wrong with, rendered from the template of the project.
func sound(t *testing.T) Manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "krew", "dbop.tmpl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r := Release{Version: "v1.2.3", Base: "https://example.com/v1.2.3"}
	for _, pair := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64",
		"windows/arm64"} {
		system, processor, _ := strings.Cut(pair, "/")
		name := "kubectl-dbop_" + system + "_" + processor + ".tar.gz"
		if system == "windows" {
			name = strings.TrimSuffix(name, ".tar.gz") + ".zip"
		}
		r.Archives = append(r.Archives, Archive{OS: system, Arch: processor, Name: name, SHA256: strings.Repeat("a0", 32)})
	}
	raw, err := Render(string(text), r)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(raw)
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return m
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	m := sound(t)
	if err := Check(m, "krew/dbop.yaml"); err != nil {
		t.Error(err)
	}
	want := []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}
	if diff := cmp.Diff(want, m.Pairs()); diff != "" {
		t.Error(diff)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file   string
		change func(*Manifest)
		want   string
	}{
		"another API":       {change: func(m *Manifest) { m.APIVersion = "v1" }, want: "not a Plugin of krew"},
		"another file":      {file: "krew/other.yaml", want: "the file is called other.yaml, not dbop.yaml"},
		"another extension": {file: "krew/dbop.yml", want: "the file is called dbop.yml"},
		"a name with a dot": {file: "a.b.yaml", change: func(m *Manifest) { m.Metadata.Name = "a.b" },
			want: `"a.b" can't be`},
		"a device": {file: "con.yaml", change: func(m *Manifest) { m.Metadata.Name = "con" },
			want: `"con" can't be`},
		"a version without v":    {change: func(m *Manifest) { m.Spec.Version = "1.2.3" }, want: "not semver"},
		"a version of two parts": {change: func(m *Manifest) { m.Spec.Version = "v1.2" }, want: "not semver"},
		"no description":         {change: func(m *Manifest) { m.Spec.ShortDescription = "" }, want: "must be one line"},
		"two lines":              {change: func(m *Manifest) { m.Spec.ShortDescription = "a\nb" }, want: "must be one line"},
		"a long one": {change: func(m *Manifest) { m.Spec.ShortDescription = strings.Repeat("x", 51) },
			want: "51 characters"},
		"a wide one": {change: func(m *Manifest) { m.Spec.Description = strings.Repeat("x", 81) },
			want: "line 1 of the description"},
		"no homepage":    {change: func(m *Manifest) { m.Spec.Homepage = "" }, want: "homepage"},
		"no platform":    {change: func(m *Manifest) { m.Spec.Platforms = nil }, want: "no platform"},
		"no uri":         {change: func(m *Manifest) { m.Spec.Platforms[0].URI = "" }, want: "platform 1: uri is missing"},
		"a bare program": {change: func(m *Manifest) { m.Spec.Platforms[0].URI = "https://example.com/x" }, want: "neither .tar.gz nor .zip"},
		"a sum in capitals": {change: func(m *Manifest) { m.Spec.Platforms[1].SHA256 = strings.Repeat("A0", 32) },
			want: "platform 2: sha256"},
		"a short sum":      {change: func(m *Manifest) { m.Spec.Platforms[1].SHA256 = "a0" }, want: "platform 2: sha256"},
		"no bin":           {change: func(m *Manifest) { m.Spec.Platforms[0].Bin = "" }, want: "bin is missing"},
		"a bin outside":    {change: func(m *Manifest) { m.Spec.Platforms[0].Bin = "../kubectl-dbop" }, want: "leads out"},
		"files of nothing": {change: func(m *Manifest) { m.Spec.Platforms[0].Files = []File{} }, want: "there and empty"},
		"half a file":      {change: func(m *Manifest) { m.Spec.Platforms[0].Files[0].To = "" }, want: "lacks from or to"},
		"a file outside":   {change: func(m *Manifest) { m.Spec.Platforms[0].Files[0].To = "/usr/bin" }, want: "leads out"},
		"no licence": {change: func(m *Manifest) { m.Spec.Platforms[0].Files = m.Spec.Platforms[0].Files[:1] },
			want: "LICENSE is not installed"},
		"no selector": {change: func(m *Manifest) { m.Spec.Platforms[0].Selector = nil }, want: "the selector is empty"},
		"a key unknown": {change: func(m *Manifest) { m.Spec.Platforms[0].Selector.MatchLabels["libc"] = "musl" },
			want: `asks for "libc"`},
		"an operator unknown": {change: func(m *Manifest) {
			m.Spec.Platforms[0].Selector = &Selector{MatchExpressions: []Expression{{Key: "os", Operator: "Near"}}}
		}, want: `operator "Near"`},
		"a pair unknown": {change: func(m *Manifest) { m.Spec.Platforms[0].Selector.MatchLabels["arch"] = "s390x" },
			want: "matches nothing"},
		"an overlap": {change: func(m *Manifest) {
			m.Spec.Platforms[0].Selector = &Selector{MatchExpressions: []Expression{{Key: "os", Operator: "In",
				Values: []string{"linux"}}}}
		}, want: "platforms 1 and 2 both match linux/arm64"},
		"no .exe": {change: func(m *Manifest) { m.Spec.Platforms[4].Bin = "kubectl-dbop" },
			want: `bin "kubectl-dbop" on windows/amd64`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, file := sound(t), "dbop.yaml"
			if c.change != nil {
				c.change(&m)
			}
			if c.file != "" {
				file = c.file
			}
			if err := Check(m, file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	if _, err := Parse([]byte("kind: Plugin\nspec: {shortDescripton: x}")); err == nil {
		t.Error("a field that nobody knows passed")
	}
	if _, err := Render("{{ .Nothing }}", Release{}); err == nil {
		t.Error("a template that asks for nothing known passed")
	}
}
