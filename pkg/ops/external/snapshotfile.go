package external

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// importOperation begins the identifier of the import that wrote a backup.
const importOperation = "import/"

// SnapshotFile is a file that a database's own tool saved, read to its end and
// found whole.
type SnapshotFile struct {
	Engine engine.Engine
	path   string
	// made is what the file says of itself, as a manifest.
	made repository.Manifest
	sum  []byte
}

// OpenSnapshotFile checks a file before anything is done for its sake. version
// is the one of the database that made the file; it counts only if the file
// does not say.
func OpenSnapshotFile(engines []engine.Engine, path, version string) (*SnapshotFile, error) {
	s, err := recognizeFile(engines, path)
	if err != nil {
		return nil, err
	}
	if s.made.Version, err = s.version(version); err != nil {
		return nil, err
	}
	return s, s.measure()
}

// recognizeFile asks the engines whose snapshot a file is.
func recognizeFile(engines []engine.Engine, path string) (*SnapshotFile, error) {
	var all error
	for _, e := range engines {
		facts, err := e.OpenSnapshot(path, false)
		if err == nil {
			return &SnapshotFile{Engine: e, path: path, made: repository.Manifest{Format: 1, Engine: e.Name(), Facts: facts}},
				nil
		}
		if !errors.Is(err, engine.ErrNotSnapshot) {
			return nil, fmt.Errorf("read snapshot file %s: %w", path, err)
		}
		all = errors.Join(all, err)
	}
	return nil, &ops.Error{Kind: ops.Refused, Check: "snapshot", Message: "file " + path +
		" can't be restored, nothing was touched",
		Hint: "save the snapshot again with the database's own client, or copy the file again from where it is whole",
		Err:  all}
}

// version is the one that the data has, else the one that was given.
func (s *SnapshotFile) version(given string) (string, error) {
	if s.made.Facts.Schema != "" {
		return s.made.Facts.Schema, nil
	}
	if given == "" {
		return "", &ops.Error{Kind: ops.Refused, Check: "version", Hint: "name it with --version, such as --version " +
			s.Engine.Catalog().Releases[0].Version,
			Message: fmt.Sprintf("file %s does not say which version of %s made it", s.path, s.Engine.Name())}
	}
	if r, err := engine.Nearest(s.Engine, given); err == nil {
		return r.Version, nil
	}
	return given, nil
}

// measure takes size, time and SHA-256 of the whole file.
func (s *SnapshotFile) measure() (err error) {
	file, err := os.Open(filepath.Clean(s.path))
	if err != nil {
		return fmt.Errorf("read snapshot file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read snapshot file: %w", err)
	}
	sum := sha256.New()
	if s.made.Bytes, err = io.Copy(sum, file); err != nil {
		return fmt.Errorf("read snapshot file: %w", err)
	}
	s.sum = sum.Sum(nil)
	s.made.SHA256 = hex.EncodeToString(s.sum)
	s.made.Origin = "file " + filepath.Base(s.path)
	s.made.FinishedAt = info.ModTime().UTC().Truncate(time.Second)
	return nil
}

// Find returns the backup that holds the file already, or, with stored false,
// the manifest of the one that Import would make. Its identifier follows from
// the file, so that an import that was cut off is repeated, not left behind.
func (s *SnapshotFile) Find(ctx context.Context, repo repository.Repository, cluster, namespace, tool string,
	now time.Time) (m repository.Manifest, stored bool, err error) {
	all, err := repo.List(ctx, "")
	if _, err = repository.SplitDamaged(err); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, false, err
	}
	for _, have := range all {
		if have.SHA256 == s.made.SHA256 && have.Engine == s.made.Engine {
			return have, true, nil
		}
	}
	m = s.made
	if m.FinishedAt.After(now) {
		m.FinishedAt = now
	}
	m.StartedAt = m.FinishedAt
	m.Cluster, m.Namespace, m.Tool = cluster, namespace, tool
	m.Operation = importOperation + m.SHA256
	m.ID, err = repository.NewID(cluster, m.FinishedAt, bytes.NewReader(s.sum))
	return m, false, err
}

// Import copies the file into the repository as the backup that Find described.
// The copy is checked as any other backup, and is not there until it is whole.
func (s *SnapshotFile) Import(ctx context.Context, repo repository.Repository, m repository.Manifest,
	report func(bytes, total int64)) (made repository.Manifest, err error) {
	file, err := os.Open(filepath.Clean(s.path))
	if err != nil {
		return made, fmt.Errorf("import snapshot file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w, err := repo.Writer(ctx, m.ID, m.Operation)
	if err != nil {
		return made, err
	}
	defer func() { _ = w.Abort() }()
	check, sum := s.Engine.CheckStream(), sha256.New()
	progress := &repository.Counter{Report: func(n int64) { report(n, m.Bytes) }}
	if _, err := io.Copy(progress.Writer(io.MultiWriter(w, check, sum)), file); err != nil {
		return made, fmt.Errorf("import %s: %w", s.path, err)
	}
	if err := check.Close(); err != nil {
		return made, fmt.Errorf("import %s: %w", s.path, err)
	}
	if !bytes.Equal(sum.Sum(nil), s.sum) {
		return made, &ops.Error{Kind: ops.Failed, Check: "snapshot", Message: "file " + s.path +
			" was changed while it was read", Hint: "repeat the command"}
	}
	open := func(path string) (engine.SnapshotFacts, error) { return s.Engine.OpenSnapshot(path, true) }
	if made, err = w.Commit(ctx, m, open); err != nil {
		return made, fmt.Errorf("import %s: %w", s.path, err)
	}
	return made, nil
}

// ImportStep is how a plan shows the import, which comes before the operation.
func ImportStep(m repository.Manifest, url string) ops.Step {
	return ops.Step{ID: "import/" + m.ID, Action: ops.ActionBackup,
		Title: fmt.Sprintf("Import %s into %s as backup %s", m.Origin, url, m.ID),
		Risk:  ops.RiskNone, Touches: []string{"backup/" + m.ID}}
}
