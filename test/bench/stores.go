package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// The bars of issue 13, as times: half as fast again as the other side is two thirds of its time.
const (
	barFaster   = 1 / 1.5
	barPlain    = 1 / 0.95
	barStore    = 1 / 0.8
	storeBucket = "bench"
	storeStream = "snapshot.db"
)

// stores measures how fast backups get into a repository and out of it, against the programs that a person would use.
type stores struct {
	*bench
	dir, source, compressed string
	encrypted, plain        archive.Keys
	identity, recipient     string
	server                  *harness.ObjectStore
	n                       int
}

func measureStores(ctx context.Context, b *bench) (err error) {
	dir := filepath.Join(b.home, "stores")
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &stores{bench: b, dir: dir, source: filepath.Join(dir, "source"), compressed: filepath.Join(dir, "source.zst")}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.writes(ctx); err != nil {
		return err
	}
	if err := s.reads(ctx); err != nil {
		return err
	}
	if s.server, err = harness.StartLocalStore(ctx, filepath.Join(dir, "server")); err != nil {
		return err
	}
	if err := s.server.MakeBucket(ctx, storeBucket, false); err != nil {
		return err
	}
	return s.uploads(ctx)
}

// keys makes keys of its own.
func (s *stores) keys() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	identity, recipient, err := archive.NewIdentity()
	if err != nil {
		return err
	}
	signer, public, err := archive.NewSigner("bench")
	if err != nil {
		return err
	}
	s.identity, s.recipient = filepath.Join(s.dir, "key.txt"), recipient
	s.encrypted, err = archive.ParseKeys([]string{recipient}, []string{identity}, signer, []string{public})
	if err != nil {
		return err
	}
	if s.plain, err = archive.ParseKeys(nil, nil, signer, []string{public}); err != nil {
		return err
	}
	if err := os.WriteFile(s.identity, []byte(identity+"\n"), 0o600); err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	return nil
}

// prepare makes keys, and a stream in a file.
func (s *stores) prepare(ctx context.Context) error {
	if err := s.keys(); err != nil {
		return err
	}
	f, err := os.Create(s.source)
	if err != nil {
		return fmt.Errorf("make a stream: %w", err)
	}
	if _, err := io.CopyN(f, newPages(), int64(s.storeMiB)<<20); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("make a stream: %w", err)
	}
	_, err = s.shell(ctx, "zstd -q -f -1 -T2 source -o source.zst")
	return err
}

// shell runs a pipe of stock programs.
func (s *stores) shell(ctx context.Context, script string) (time.Duration, error) {
	c := harness.Command{Path: "bash", Dir: s.dir, Env: map[string]string{"AGE": harness.StoreProgram("age"),
		"RCLONE": harness.StoreProgram("rclone"), "RECIPIENT": s.recipient}}
	r, err := succeed(ctx, c, "-euo", "pipefail", "-c", script)
	return r.Duration, err
}

// save writes the stream as one backup, and returns how long that took.
func (s *stores) save(ctx context.Context, at store.Store, keys archive.Keys) (string, time.Duration, error) {
	f, err := os.Open(s.source)
	if err != nil {
		return "", 0, fmt.Errorf("read the stream: %w", err)
	}
	defer func() { _ = f.Close() }()
	return s.saveFrom(ctx, at, keys, f)
}

func (s *stores) saveFrom(ctx context.Context, at store.Store, keys archive.Keys, f io.Reader) (string, time.Duration,
	error) {
	s.n++
	id := fmt.Sprintf("bench-20261123T101500Z-%04x", s.n)
	from := time.Now()
	w, _, err := archive.Open(at, keys).Begin(ctx, archive.Request{
		Scope: archive.Scope{Namespace: "bench", Cluster: "bench"}, ID: id, Operation: id})
	if err != nil {
		return id, 0, err
	}
	if err := w.Stream(ctx, storeStream, f); err != nil {
		return id, 0, err
	}
	_, err = w.Commit(ctx, archive.Manifest{Engine: "etcd", Version: "3.6.16", StartedAt: from, FinishedAt: time.Now(),
		Facts: map[string]string{"snapshot": "{}"}})
	return id, time.Since(from), err
}

// into is a directory that nothing was written to.
func (s *stores) into() (store.Store, error) {
	return store.NewDirectory(filepath.Join(s.dir, fmt.Sprintf("repository-%d", s.n)))
}

// pair measures both sides, one after the other.
func (s *stores) pair(ctx context.Context, script string, ours func() (time.Duration, error)) (mine, theirs samples,
	err error) {
	for range s.repeats {
		took, err := ours()
		if err != nil {
			return nil, nil, err
		}
		mine.took(took)
		if took, err = s.shell(ctx, script); err != nil {
			return nil, nil, err
		}
		theirs.took(took)
	}
	return mine, theirs, nil
}

func (s *stores) judge(what, against string, mine, theirs samples, bar float64) {
	s.rows.judged(fmt.Sprintf("%s of %d MiB ÷ %s", what, s.storeMiB, against), mine.median()/theirs.median(),
		"ratio", bar,
		"ours: "+mine.spread("s")+"; "+against+": "+theirs.spread("s"))
}

func (s *stores) writes(ctx context.Context) error {
	for _, c := range []struct {
		what, against, script string
		keys                  archive.Keys
		bar                   float64
	}{
		{"encrypted write to a directory", "zstd -1 -T2 | age",
			`zstd -q -1 -T2 -c source | "$AGE" -r "$RECIPIENT" -o out.age; rm out.age`,
			s.encrypted, barFaster},
		{"plain write to a directory", "zstd -1 -T2 with fsync",
			`zstd -q -f -1 -T2 source -o out.zst; sync out.zst; rm out.zst`,
			s.plain, barPlain},
	} {
		mine, theirs, err := s.pair(ctx, c.script, func() (time.Duration, error) {
			at, err := s.into()
			if err != nil {
				return 0, err
			}
			_, took, err := s.save(ctx, at, c.keys)
			return took, errors.Join(err, os.RemoveAll(strings.TrimPrefix(at.URL(), "dir:")))
		})
		if err != nil {
			return err
		}
		s.judge(c.what, c.against, mine, theirs, c.bar)
	}
	return nil
}

func (s *stores) reads(ctx context.Context) error {
	at, err := s.into()
	if err != nil {
		return err
	}
	id, _, err := s.save(ctx, at, s.encrypted)
	if err != nil {
		return err
	}
	if _, err := s.shell(ctx, `"$AGE" -r "$RECIPIENT" -o source.zst.age source.zst`); err != nil {
		return err
	}
	mine, theirs, err := s.pair(ctx, `"$AGE" -d -i key.txt source.zst.age | zstd -q -d > /dev/null`,
		func() (time.Duration, error) {
			from := time.Now()
			r, err := s.reader(ctx, at, id)
			if err != nil {
				return 0, err
			}
			_, err = io.Copy(io.Discard, r)
			return time.Since(from), errors.Join(err, r.Close())
		})
	if err != nil {
		return err
	}
	s.judge("read with verification", "age -d | zstd -d", mine, theirs, barFaster)
	return nil
}
