package repository

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// abortWithin bounds the farewell of an upload that is given up; the server
// also gives it up by itself once the connection is gone.
const abortWithin = 10 * time.Second

// Writer begins a backup on the server, which refuses as Directory.Writer
// does. ctx bounds the whole stream. A cut connection leaves at most remains
// that end in .part, which the same operation replaces.
func (r *Remote) Writer(ctx context.Context, id, operation string) (Writer, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	var started UploadReply
	if err := r.call(ctx, http.MethodPost, backupPath(id, "uploads"), UploadRequest{Operation: operation},
		&started); err != nil {
		return nil, fmt.Errorf("begin backup %s in %s: %w", id, r.url, err)
	}
	ctx, stop := context.WithCancel(ctx)
	body, pipe := io.Pipe()
	w := &upload{
		ctx: ctx, stop: stop, repo: r, id: id, path: backupPath(id, "uploads", started.Upload), operation: operation,
		pipe: pipe, buffer: bufio.NewWriterSize(pipe, wire.Chunk/4), sum: sha256.New(), sent: make(chan struct{}),
	}
	// The transport waits for the body even after its context ended.
	context.AfterFunc(ctx, func() { _ = pipe.CloseWithError(context.Cause(ctx)) })
	go w.stream(body)
	return w, nil
}

// upload holds the context of the one stream that it is.
type upload struct {
	ctx                 context.Context
	stop                context.CancelFunc
	repo                *Remote
	id, path, operation string
	pipe                *io.PipeWriter
	buffer              *bufio.Writer
	sum                 hash.Hash
	bytes               int64
	finished            bool

	// sent is closed when the request is over; failure is its outcome.
	sent    chan struct{}
	failure error
}

func (w *upload) stream(body *io.PipeReader) {
	defer close(w.sent)
	resp, err := w.repo.send(w.ctx, http.MethodPut, w.path, body)
	if err == nil {
		err = decodeAnswer(resp.Body, nil)
		err = errors.Join(err, resp.Body.Close())
	}
	w.failure = err
	// Wakes a Write that nobody reads any more.
	_ = body.CloseWithError(io.ErrClosedPipe)
}

func (w *upload) Write(p []byte) (int, error) {
	if w.finished {
		return 0, fmt.Errorf("write backup %s to %s: %w", w.id, w.repo.url, ErrFinished)
	}
	n, err := w.buffer.Write(p)
	w.sum.Write(p[:n])
	w.bytes += int64(n)
	if err != nil {
		return n, w.broken(err)
	}
	return n, nil
}

// broken prefers the server's reason to the closed pipe that it led to.
func (w *upload) broken(err error) error {
	<-w.sent
	if w.failure != nil {
		err = w.failure
	}
	return fmt.Errorf("write backup %s to %s after %d bytes: %w", w.id, w.repo.url, w.bytes, err)
}

// Commit makes the backup visible. The finished file is opened by the server,
// with the engine that m names; open is not called. If the answer is lost the
// backup may be there or not: Get tells, and the same operation may repeat.
func (w *upload) Commit(ctx context.Context, m Manifest, _ func(path string) (engine.SnapshotFacts, error)) (Manifest,
	error) {
	if w.finished {
		return Manifest{}, fmt.Errorf("commit backup %s in %s: %w", w.id, w.repo.url, ErrFinished)
	}
	stored, err := w.commit(ctx, m)
	if err != nil {
		return Manifest{}, errors.Join(fmt.Errorf("commit backup %s in %s: %w", w.id, w.repo.url, err), w.Abort())
	}
	w.finished = true
	w.stop()
	return stored, nil
}

func (w *upload) commit(ctx context.Context, m Manifest) (Manifest, error) {
	if err := w.buffer.Flush(); err != nil {
		return m, w.broken(err)
	}
	if err := w.pipe.Close(); err != nil {
		return m, err
	}
	select {
	case <-w.sent:
	case <-ctx.Done():
		return m, ctx.Err()
	}
	if w.failure != nil {
		return m, w.failure
	}
	// The server compares these with what it holds.
	m.ID, m.Operation = w.id, w.operation
	m.Bytes, m.SHA256 = w.bytes, hex.EncodeToString(w.sum.Sum(nil))
	var stored Manifest
	err := w.repo.call(ctx, http.MethodPost, w.path+"/commit", m, &stored)
	return stored, err
}

// Abort ends the stream and tells the server to drop it. Without a connection
// the server finds out by itself.
func (w *upload) Abort() error {
	if w.finished {
		return nil
	}
	w.finished = true
	w.stop()
	<-w.sent
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortWithin)
	defer cancel()
	if err := w.repo.call(ctx, http.MethodDelete, w.path, nil, nil); err != nil {
		return fmt.Errorf("drop unfinished backup %s in %s: %w", w.id, w.repo.url, err)
	}
	return nil
}
