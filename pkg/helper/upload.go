package helper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// uploads are the backups that clients are writing, one at most for each identifier.
type uploads struct {
	repo  *repository.Directory
	open  OpenFunc
	stall time.Duration

	mu   sync.Mutex
	byID map[string]*upload
}

// upload is one backup on its way in. While busy, one request owns its writer.
type upload struct {
	name, operation string
	writer          repository.Writer
	busy, streamed  bool
}

func (u *uploads) route(mux *http.ServeMux) {
	const path = repository.PathBackups + "/{id}/uploads"
	mux.HandleFunc("POST "+path, u.begin)
	mux.HandleFunc("PUT "+path+"/{upload}", u.stream)
	mux.HandleFunc("POST "+path+"/{upload}/commit", u.commit)
	mux.HandleFunc("DELETE "+path+"/{upload}", u.abort)
}

func (u *uploads) begin(w http.ResponseWriter, r *http.Request) {
	var in repository.UploadRequest
	if err := decode(w, r, &in); err != nil {
		repository.Faults().Refuse(w, err)
		return
	}
	name, err := u.start(r.Context(), r.PathValue("id"), in.Operation)
	reply(w, repository.UploadReply{Upload: name}, err)
}

// start replaces an upload that its client began and left; were it refused,
// the lock of a killed client would last as long as this pod.
func (u *uploads) start(ctx context.Context, id, operation string) (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if old := u.byID[id]; old != nil && !old.busy && old.operation == operation {
		delete(u.byID, id)
		if err := old.writer.Abort(); err != nil {
			return "", fmt.Errorf("drop the earlier upload: %w", err)
		}
	}
	// The writer outlives this request; the requests that use it end it.
	writer, err := u.repo.Writer(context.WithoutCancel(ctx), id, operation)
	if err != nil {
		return "", err
	}
	name := rand.Text()
	u.byID[id] = &upload{name: name, operation: operation, writer: writer}
	return name, nil
}

func (u *uploads) stream(w http.ResponseWriter, r *http.Request) {
	up, err := u.take(r, false)
	if err != nil {
		repository.Faults().Refuse(w, err)
		return
	}
	body := newPatient(w, r, u.stall)
	_, err = io.CopyBuffer(struct{ io.Writer }{up.writer}, body, make([]byte, wire.Chunk))
	if err == nil {
		err = body.done()
	}
	if err != nil {
		err = errors.Join(err, u.drop(r, up))
	} else {
		u.give(up)
	}
	reply(w, struct{}{}, err)
}

func (u *uploads) commit(w http.ResponseWriter, r *http.Request) {
	var m repository.Manifest
	if err := decode(w, r, &m); err != nil {
		repository.Faults().Refuse(w, err)
		return
	}
	up, err := u.take(r, true)
	if err != nil {
		repository.Faults().Refuse(w, err)
		return
	}
	m, err = up.writer.Commit(r.Context(), m, func(path string) (engine.SnapshotFacts, error) {
		return u.open(m.Engine, path)
	})
	// Nothing is left to abort, whether it succeeded or not.
	err = errors.Join(err, u.drop(r, up))
	reply(w, m, err)
}

// abort succeeds where nothing is left to drop.
func (u *uploads) abort(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	up := u.byID[r.PathValue("id")]
	mine := up != nil && up.name == r.PathValue("upload") && !up.busy
	if mine {
		up.busy = true
	}
	u.mu.Unlock()
	var err error
	if mine {
		err = u.drop(r, up)
	}
	reply(w, struct{}{}, err)
}

// take makes the request the owner of an upload that is before or after its stream.
func (u *uploads) take(r *http.Request, streamed bool) (*upload, error) {
	id, name := r.PathValue("id"), r.PathValue("upload")
	u.mu.Lock()
	defer u.mu.Unlock()
	up := u.byID[id]
	switch {
	case up == nil || up.name != name:
		return nil, fmt.Errorf("%w: this upload of %s is unknown here; begin it again", repository.ErrFinished, id)
	case up.busy:
		return nil, fmt.Errorf("%w: this upload of %s is in use", repository.ErrBusy, id)
	case up.streamed != streamed:
		return nil, fmt.Errorf("%w: this upload of %s is past that step, or not there yet; begin it again",
			repository.ErrFinished, id)
	}
	up.busy = true
	return up, nil
}

// give ends the ownership after a whole stream.
func (u *uploads) give(up *upload) {
	u.mu.Lock()
	defer u.mu.Unlock()
	up.busy, up.streamed = false, true
}

// drop forgets an upload, once its writer has let go of the lock.
func (u *uploads) drop(r *http.Request, up *upload) error {
	err := up.writer.Abort()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byID[r.PathValue("id")] == up {
		delete(u.byID, r.PathValue("id"))
	}
	return err
}

// close drops what no request owns; requests drop their own.
func (u *uploads) close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var errs []error
	for id, up := range u.byID {
		if !up.busy {
			errs = append(errs, up.writer.Abort())
			delete(u.byID, id)
		}
	}
	return errors.Join(errs...)
}
