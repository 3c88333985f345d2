package krew

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pack writes an archive of the files, by name and content.
func pack(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	if strings.HasSuffix(name, ".zip") {
		z := zip.NewWriter(&out)
		for file, content := range files {
			w, err := z.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	} else {
		packed := gzip.NewWriter(&out)
		w := tar.NewWriter(packed)
		for file, content := range files {
			if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: int64(len(content)),
				Typeflag: tar.TypeReg}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := packed.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInstall(t *testing.T) {
	t.Parallel()
	whole := map[string]string{"kubectl-dbop": "#!", "kubectl-dbop.exe": "MZ", "LICENSE": "Apache", "README.md": "read"}
	for name, c := range map[string]struct {
		archive string
		files   map[string]string
		change  func(*Platform)
		want    string
	}{
		"a tarball": {archive: "a.tar.gz", files: whole},
		"a zip": {archive: "a.zip", files: whole, change: func(p *Platform) {
			p.Bin,
				p.Files[0].From = "kubectl-dbop.exe", "kubectl-dbop.exe"
		}},
		"everything": {archive: "a.tar.gz", files: whole, change: func(p *Platform) { p.Files = nil }},
		"another sum": {archive: "a.tar.gz", files: whole, change: func(p *Platform) {
			p.SHA256 = strings.Repeat("0",
				64)
		}, want: "the manifest says 0000"},
		"no licence": {archive: "a.tar.gz", files: map[string]string{"kubectl-dbop": "#!"},
			want: "LICENSE is not in the archive"},
		"no licence named": {archive: "a.tar.gz", files: map[string]string{"kubectl-dbop": "#!"},
			change: func(p *Platform) { p.Files = p.Files[:1] }, want: "LICENSE is not among"},
		"no program": {archive: "a.tar.gz", files: map[string]string{"LICENSE": "Apache"},
			want: "kubectl-dbop is not in the archive"},
		"a way out":          {archive: "a.tar.gz", files: map[string]string{"../x": "!"}, want: "leads out"},
		"a way out of a zip": {archive: "a.zip", files: map[string]string{"../x": "!"}, want: "leads out"},
		"another bin than is": {archive: "a.tar.gz", files: whole, change: func(p *Platform) { p.Bin = "dbop" },
			want: "dbop is not among"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive := pack(t, c.archive, c.files)
			sum, err := Sum(archive)
			if err != nil {
				t.Fatal(err)
			}
			p := Platform{SHA256: sum, Bin: "kubectl-dbop", Files: []File{{"kubectl-dbop", "."}, {"LICENSE", "."}}}
			if c.change != nil {
				c.change(&p)
			}
			dir := t.TempDir()
			switch err := Install(p, archive, dir); {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			case err != nil:
				t.Error(err)
			default:
				if _, err := os.Stat(filepath.Join(dir, p.Bin)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
