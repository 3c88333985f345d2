package bucket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// Writer begins a backup: what is written goes to the store and to a file at once, which the engine reads at the
// end. A process that dies leaves objects that no backup has, and Prune collects them after a day. If the operation
// wrote the backup before, Commit returns that one.
func (r *Repository) Writer(ctx context.Context, id, operation string) (repository.Writer, error) {
	if err := repository.CheckID(id); err != nil {
		return nil, err
	}
	cluster := repository.ClusterOf(id)
	to, done, err := r.archive.Begin(ctx, archive.Request{
		Scope: archive.Scope{Namespace: r.namespace, Cluster: cluster}, ID: id, Operation: operation,
	})
	if err != nil {
		return nil, r.explain(err)
	}
	f, err := os.CreateTemp(r.staging, "dbop-"+cluster+"-*.part")
	if err != nil {
		return nil, fmt.Errorf("begin backup %s: %w", id, err)
	}
	w := &writer{repository: r, id: id, done: done, to: to, file: f}
	w.staged = bufio.NewWriterSize(f, wire.Chunk)
	if done == nil {
		w.stream(ctx)
	}
	return w, nil
}

// handedOver is how much is handed over to the store's side at once.
const handedOver = 1 << 20

type writer struct {
	repository *Repository
	id         string
	// done is what an earlier run of the operation wrote.
	done *archive.Manifest
	to   *archive.Writer

	file   *os.File
	staged *bufio.Writer
	// pipe leads to the store; sent gets what came of it. An engine writes pieces of a few KiB: ahead hands them over
	// together, as a pipe has both sides wait for each other each time.
	pipe     *io.PipeWriter
	ahead    *bufio.Writer
	sent     chan error
	finished bool
}

func (w *writer) stream(ctx context.Context) {
	body, pipe := io.Pipe()
	w.pipe, w.ahead, w.sent = pipe, bufio.NewWriterSize(pipe, handedOver), make(chan error, 1)
	go func() {
		err := w.to.Stream(ctx, stream, body)
		// Wakes a Write that nobody reads any more.
		_ = body.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		w.sent <- err
	}()
}

func (w *writer) Write(p []byte) (int, error) {
	if w.finished {
		return 0, fmt.Errorf("write backup %s: %w", w.id, repository.ErrFinished)
	}
	if _, err := w.staged.Write(p); err != nil {
		if disk.Full(err) {
			err = fmt.Errorf("%w: %w", repository.ErrNoSpace, err)
		}
		return 0, fmt.Errorf("keep backup %s in a file until it is whole: %w", w.id, err)
	}
	if w.pipe == nil {
		return len(p), nil
	}
	n, err := w.ahead.Write(p)
	if err != nil {
		err = w.repository.explain(err)
	}
	return n, err
}

// Commit has the engine read the file, and then makes the backup exist.
func (w *writer) Commit(ctx context.Context, m repository.Manifest,
	open func(path string) (engine.SnapshotFacts, error)) (repository.Manifest, error) {
	if w.finished {
		return repository.Manifest{}, fmt.Errorf("commit backup %s: %w", w.id, repository.ErrFinished)
	}
	if w.done != nil {
		out, err := fromArchive(w.done)
		return out, errors.Join(err, w.Abort())
	}
	out, err := w.commit(ctx, m, open)
	if err != nil {
		err = fmt.Errorf("commit backup %s: %w", w.id, err)
	}
	return out, errors.Join(err, w.Abort())
}

func (w *writer) commit(ctx context.Context, m repository.Manifest,
	open func(path string) (engine.SnapshotFacts, error)) (repository.Manifest, error) {
	if err := w.staged.Flush(); err != nil {
		return m, fmt.Errorf("keep it in a file until it is whole: %w", err)
	}
	flushed := w.ahead.Flush()
	// The engine reads while the rest is sent.
	_ = w.pipe.Close()
	facts, failed := open(w.file.Name())
	err := <-w.sent
	if err == nil {
		err = flushed // who did not take a piece says why, and this is for who does not
	}
	w.pipe = nil
	if err != nil {
		return m, w.repository.explain(err)
	}
	if failed != nil {
		return m, fmt.Errorf("open what was written: %w", failed)
	}
	m.ID, m.Facts = w.id, facts
	if err := m.Adds(facts); err != nil {
		return m, err
	}
	made, err := toArchive(m)
	if err != nil {
		return m, err
	}
	if m.Parent != "" {
		full, err := w.repository.find(ctx, m.Parent)
		if err != nil {
			return m, fmt.Errorf("add to backup %s: %w", m.Parent, err)
		}
		made.Parent = full.Attempt
	}
	stored, err := w.to.Commit(ctx, made)
	if err != nil {
		return m, w.repository.explain(err)
	}
	return fromArchive(stored)
}

// Abort drops the file, and ends what is on its way to the store. After Commit it does nothing.
func (w *writer) Abort() error {
	if w.finished {
		return nil
	}
	w.finished = true
	if w.pipe != nil {
		_ = w.pipe.CloseWithError(errAborted)
		<-w.sent //nolint:errcheck // that it was given up is known
	}
	return errors.Join(w.file.Close(), os.Remove(w.file.Name()))
}

var errAborted = errors.New("the backup was given up")
