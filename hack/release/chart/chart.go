// Package chart packs a Helm chart as helm does, and the same way each time.
package chart

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Pack writes the chart in dir as NAME-VERSION.tgz to a directory, with the
// version of the release as its own and as that of the program. A chart's
// version has no v.
func Pack(dir, version string, created time.Time, to string) error {
	raw, err := os.ReadFile(filepath.Join(dir, "Chart.yaml"))
	if err != nil {
		return fmt.Errorf("pack the chart: %w", err)
	}
	var about map[string]any
	if err := yaml.Unmarshal(raw, &about); err != nil {
		return fmt.Errorf("pack the chart: %w", err)
	}
	name, _ := about["name"].(string)
	about["version"], about["appVersion"] = strings.TrimPrefix(version, "v"), version
	if raw, err = yaml.Marshal(about); err != nil {
		return fmt.Errorf("pack the chart: %w", err)
	}
	f, err := os.Create(filepath.Join(to, name+"-"+strings.TrimPrefix(version, "v")+
		".tgz")) // #nosec G304 -- where the caller says
	if err != nil {
		return fmt.Errorf("pack the chart: %w", err)
	}
	packed := gzip.NewWriter(f)
	w := tar.NewWriter(packed)
	add := func(file string, content []byte) error {
		h := &tar.Header{Name: path.Join(name, file), Mode: 0o644, Size: int64(len(content)), ModTime: created.UTC(),
			Typeflag: tar.TypeReg}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	err = add("Chart.yaml", raw)
	// WalkDir goes in order, so that a repeat packs the same.
	err = errors.Join(err, filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || at == filepath.Join(dir, "Chart.yaml") {
			return err
		}
		content, err := os.ReadFile(filepath.Clean(at))
		if err != nil {
			return err
		}
		file, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		return add(filepath.ToSlash(file), content)
	}))
	if err := errors.Join(err, w.Close(), packed.Close(), f.Close()); err != nil {
		return fmt.Errorf("pack the chart: %w", err)
	}
	return nil
}
