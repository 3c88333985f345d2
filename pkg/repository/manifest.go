package repository

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// format is the manifest's format that this tool writes.
	format = 1
	// maxManifest bounds what is read as a manifest; real ones have about a kilobyte.
	maxManifest = 1 << 20

	dataSuffix     = ".snapshot"
	manifestSuffix = ".json"
	partSuffix     = ".part"
)

// ErrFormat: a newer tool wrote the manifest, in a format that this one can't read.
var ErrFormat = errors.New("backup was written by a newer version of the tool")

// decodeManifest reads and judges the manifest of a backup.
func decodeManifest(id string, content []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(content, &m); err != nil {
		return Manifest{}, fmt.Errorf("%w: manifest of %s: %w", ErrDamaged, id, err)
	}
	if m.Format > format {
		return Manifest{}, fmt.Errorf("%w: manifest of %s has format %d, this tool reads up to %d; update it",
			ErrFormat, id, m.Format, format)
	}
	sum, err := hex.DecodeString(m.SHA256)
	var wrong string
	switch {
	case m.Format < 1:
		wrong = "it has no format"
	case m.ID != id:
		wrong = fmt.Sprintf("it belongs to %q", m.ID)
	case m.File == "" || m.File != filepath.Base(m.File) || strings.HasPrefix(m.File, "."):
		wrong = fmt.Sprintf("its file %q is no plain name", m.File)
	case m.Bytes < 0:
		wrong = fmt.Sprintf("it claims %d bytes", m.Bytes)
	case err != nil || len(sum) != 32:
		wrong = fmt.Sprintf("invalid SHA-256 %q", m.SHA256)
	default:
		return m, nil
	}
	return Manifest{}, fmt.Errorf("%w: manifest of %s: %s", ErrDamaged, id, wrong)
}

func encodeManifest(m Manifest) ([]byte, error) {
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest of %s: %w", m.ID, err)
	}
	return append(content, '\n'), nil
}

// manifestBytes reads a manifest as it is stored.
func (d *Directory) manifestBytes(id string) ([]byte, error) {
	f, err := os.Open(d.manifestPath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s in %s", ErrNotFound, id, d.URL())
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest of %s: %w", id, err)
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("read the manifest of %s: %w", id, err)
	}
	if len(content) > maxManifest {
		return nil, fmt.Errorf("%w: manifest of %s has more than %d bytes", ErrDamaged, id, maxManifest)
	}
	return content, nil
}

func (d *Directory) manifest(id string) (Manifest, error) {
	content, err := d.manifestBytes(id)
	if err != nil {
		return Manifest{}, err
	}
	return decodeManifest(id, content)
}

// putManifest replaces a manifest durably; a crash leaves the old or the new one.
func (d *Directory) putManifest(id string, content []byte) error {
	part := d.manifestPath(id) + partSuffix
	f, err := d.files.create(part)
	if err == nil {
		_, err = f.Write(content)
		if err == nil {
			err = f.Sync()
		}
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err == nil {
		err = d.files.rename(part, d.manifestPath(id))
	}
	if err == nil {
		err = d.files.syncDir(d.path)
	}
	if err != nil {
		return d.explain(err, "write the manifest of "+id)
	}
	return nil
}
