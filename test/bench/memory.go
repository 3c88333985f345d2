package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	streamPage = 8192
	// podGarbage is the percentage that the tool gives the collector in its pods.
	podGarbage = 25
)

// pages is a stream as databases have it, that is nowhere kept: pages of which half are random, and half repeat.
type pages struct {
	random   *rand.ChaCha8
	repeated []byte
	pair     [2 * streamPage]byte
	unread   []byte
}

func newPages() *pages {
	p := &pages{random: rand.NewChaCha8([32]byte{}),
		repeated: bytes.Repeat([]byte("a row of a table; "), streamPage/16)[:streamPage]}
	copy(p.pair[streamPage:], p.repeated)
	return p
}

// Read never fails.
func (p *pages) Read(to []byte) (int, error) {
	if len(p.unread) == 0 {
		_, _ = p.random.Read(p.pair[:streamPage])
		p.unread = p.pair[:]
	}
	n := copy(to, p.unread)
	p.unread = p.unread[n:]
	return n, nil
}

// measureMemory writes a stream of any length to an object store, encrypted, and reads it back, as pods of backups and
// restores do, but in this process: no cluster has room for all of it.
func measureMemory(ctx context.Context, b *bench) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &stores{bench: b, dir: filepath.Join(b.home, "memory")}
	if err := s.keys(); err != nil {
		return err
	}
	if s.server, err = harness.StartLocalStore(ctx, filepath.Join(s.dir, "server")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	if err := s.server.MakeBucket(ctx, storeBucket, false); err != nil {
		return err
	}
	at, err := s.open("memory")
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }()
	id, size := "", int64(s.storeMiB)<<20
	defer debug.SetGCPercent(debug.SetGCPercent(podGarbage))
	for _, c := range []struct {
		what string
		run  func() error
	}{
		{"writes %d MiB to S3, encrypted", func() (err error) {
			id, _, err = s.saveFrom(ctx, at, s.encrypted, io.LimitReader(newPages(), size))
			return err
		}},
		{"reads %d MiB from S3 with verification", func() error { return s.same(ctx, at, id, size) }},
	} {
		debug.FreeOSMemory()
		from := time.Now()
		peak, err := ownAnonymous(ctx, c.run)
		if err != nil {
			return err
		}
		took := time.Since(from).Seconds()
		s.rows.judged("anonymous memory of a process that "+fmt.Sprintf(c.what, s.storeMiB), peak, "MiB", barAnonymous,
			fmt.Sprintf("%.0f s, %.0f MiB/s", took, float64(s.storeMiB)/took))
	}
	return nil
}

// same reads a backup, and compares each byte with what was written.
func (s *stores) same(ctx context.Context, at store.Store, id string, size int64) error {
	r, err := s.reader(ctx, at, id)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	want, got, expected := newPages(), make([]byte, streamPage), make([]byte, streamPage)
	for read := int64(0); ; {
		n, err := io.ReadFull(r, got)
		if _, failed := io.ReadFull(want, expected[:n]); failed != nil || !bytes.Equal(got[:n], expected[:n]) {
			return fmt.Errorf("what is read back differs within %d bytes from byte %d", n, read)
		}
		read += int64(n)
		switch {
		case errors.Is(err, io.EOF) && read == size:
			return nil
		case err != nil:
			return fmt.Errorf("read back %d bytes of %d: %w", read, size, err)
		}
	}
}

// ownAnonymous is the most anonymous memory of this process while something runs, in MiB.
func ownAnonymous(ctx context.Context, run func() error) (peak float64, err error) {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	now := time.NewTicker(anonymousEvery)
	defer now.Stop()
	for {
		select {
		case err := <-ended:
			return peak, errors.Join(err, ctx.Err())
		case <-now.C:
			peak = max(peak, statusMiB(os.Getpid(), "RssAnon:"))
		}
	}
}

// reader opens the stream of a backup.
func (s *stores) reader(ctx context.Context, at store.Store, id string) (io.ReadCloser, error) {
	a := archive.Open(at, s.encrypted)
	e, err := a.Find(ctx, archive.Scope{Namespace: "bench", Cluster: "bench"}, id)
	if err != nil {
		return nil, err
	}
	m, err := a.Manifest(ctx, e)
	if err != nil {
		return nil, err
	}
	return a.Read(ctx, m, storeStream)
}
