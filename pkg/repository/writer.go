package repository

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// ErrFinished: the writer was committed or aborted before.
var ErrFinished = errors.New("backup writer is finished")

// Writer begins a backup. ErrExists if another operation wrote the identifier
// or began to; ErrBusy if this operation is writing it already. The same
// operation may overwrite what it wrote: until Commit the old backup stays.
func (d *Directory) Writer(ctx context.Context, id, operation string) (Writer, error) {
	if err := begin(ctx, id); err != nil {
		return nil, err
	}
	if operation == "" {
		return nil, fmt.Errorf("begin backup %s: it has no operation, so a repeat could not know its own", id)
	}
	if err := d.Prepare(); err != nil {
		return nil, err
	}
	l, err := d.claimFor(id, operation)
	if err != nil {
		return nil, fmt.Errorf("begin backup: %w", err)
	}
	f, err := d.files.create(d.partPath(id))
	if err != nil {
		return nil, errors.Join(d.explain(err, "begin backup "+id), l.Release())
	}
	sum := sha256.New()
	return &directoryWriter{
		ctx: ctx, repo: d, id: id, operation: operation, claim: l,
		file: f, buffer: bufio.NewWriterSize(f, wire.Chunk), sum: sum,
	}, nil
}

// directoryWriter holds the context of the one stream that it is.
type directoryWriter struct {
	ctx           context.Context
	repo          *Directory
	id, operation string
	claim         *disk.Lock
	file          stream
	buffer        *bufio.Writer
	sum           hash.Hash
	bytes         int64
	err           error
	// renamed: the data has its final name, so that Abort must wipe that too.
	renamed  bool
	finished bool
}

func (w *directoryWriter) Write(p []byte) (int, error) {
	if w.finished {
		return 0, fmt.Errorf("write backup %s: %w", w.id, ErrFinished)
	}
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.buffer.Write(p)
	w.sum.Write(p[:n])
	w.bytes += int64(n)
	if err != nil {
		w.err = w.repo.explain(err, fmt.Sprintf("write backup %s after %d bytes", w.id, w.bytes))
	}
	return n, w.err
}

// Commit makes the backup visible. Bytes and SHA256 of m, where set, are what
// the caller expects: ErrDamaged if something else arrived. A failure aborts.
// A crash before the manifest is in place leaves no backup, and after it a
// whole one; the same operation may repeat in both cases.
func (w *directoryWriter) Commit(ctx context.Context, m Manifest,
	open func(path string) (engine.SnapshotFacts, error)) (Manifest, error) {
	if w.finished {
		return Manifest{}, fmt.Errorf("commit backup %s: %w", w.id, ErrFinished)
	}
	m, err := w.commit(ctx, m, open)
	if err != nil {
		return Manifest{}, errors.Join(fmt.Errorf("commit backup %s: %w", w.id, err), w.Abort())
	}
	w.finished = true
	// The backup is whole. A claim that stays behind names this operation and
	// keeps nobody else out, as the manifest does that already.
	_ = w.claim.Release()
	return m, nil
}

func (w *directoryWriter) commit(ctx context.Context, m Manifest,
	open func(path string) (engine.SnapshotFacts, error)) (Manifest, error) {
	m, err := w.complete(m)
	if err != nil {
		return m, err
	}
	if err := w.flush(ctx); err != nil {
		return m, err
	}
	// The engine reads what the kernel holds while the disk takes it in. Both
	// come before the data takes its final name: what is not durable, or can't
	// be read, never replaces a good backup.
	durable := make(chan error, 1)
	go func() { durable <- w.writeBack() }()
	facts, err := open(w.repo.partPath(w.id))
	if err := <-durable; err != nil {
		return m, err
	}
	if err != nil {
		return m, fmt.Errorf("open what was written: %w", err)
	}
	m.Facts = facts
	if err := w.repo.adds(m); err != nil {
		return m, err
	}
	if err := ctx.Err(); err != nil {
		return m, err
	}
	content, err := encodeManifest(m)
	if err != nil {
		return m, err
	}
	return m, w.publish(content)
}

// complete fills in what only the writer knows.
func (w *directoryWriter) complete(m Manifest) (Manifest, error) {
	sum := hex.EncodeToString(w.sum.Sum(nil))
	switch {
	case w.err != nil:
		return m, w.err
	case m.ID != "" && m.ID != w.id:
		return m, fmt.Errorf("the manifest is of %q", m.ID)
	case m.Operation != "" && m.Operation != w.operation:
		return m, fmt.Errorf("%w: the manifest is of operation %q, the data of %q", ErrExists, m.Operation, w.operation)
	case m.Bytes != 0 && m.Bytes != w.bytes:
		return m, fmt.Errorf("%w: %d bytes were sent and %d arrived", ErrDamaged, m.Bytes, w.bytes)
	case m.SHA256 != "" && m.SHA256 != sum:
		return m, fmt.Errorf("%w: SHA-256 %s was sent and %s arrived", ErrDamaged, m.SHA256, sum)
	}
	m.Format, m.ID, m.Operation = format, w.id, w.operation
	m.File, m.Bytes, m.SHA256 = w.id+dataSuffix, w.bytes, sum
	return m, nil
}

// flush hands all bytes to the kernel.
func (w *directoryWriter) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return w.repo.explain(err, "make the data durable")
	}
	if err := w.buffer.Flush(); err != nil {
		return w.repo.explain(err, "write the data")
	}
	return nil
}

// writeBack makes the data durable under its temporary name.
func (w *directoryWriter) writeBack() error {
	err := w.file.Sync()
	if err == nil {
		err = w.file.Close()
		w.file = nil
	}
	if err != nil {
		return w.repo.explain(err, "make the data durable")
	}
	return nil
}

// publish takes the manifest of an earlier run away before its data changes,
// and puts the new one in place last.
func (w *directoryWriter) publish(manifest []byte) error {
	d := w.repo
	err := d.files.remove(d.manifestPath(w.id))
	if err == nil {
		err = d.files.syncDir(d.path)
	}
	if err == nil {
		err = d.files.rename(d.partPath(w.id), d.dataPath(w.id))
		w.renamed = err == nil
	}
	if err == nil {
		err = d.files.syncDir(d.path)
	}
	if err != nil {
		return d.explain(err, "publish the data")
	}
	return d.putManifest(w.id, manifest)
}

// Abort drops what was written. A backup that an earlier run of the operation
// committed stays.
func (w *directoryWriter) Abort() error {
	if w.finished {
		return nil
	}
	w.finished = true
	var err error
	if w.file != nil {
		err = w.file.Close()
	}
	if removed := w.drop(); removed != nil {
		// The claim stays too: it says whose remains these are.
		return errors.Join(err, removed, w.claim.Unlock())
	}
	return errors.Join(err, w.claim.Release())
}

func (w *directoryWriter) drop() error {
	d := w.repo
	if w.renamed {
		return d.wipe(w.id)
	}
	if err := d.files.remove(d.partPath(w.id)); err != nil {
		return d.explain(err, "drop unfinished backup "+w.id)
	}
	return nil
}
