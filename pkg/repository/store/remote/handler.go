package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// Handler serves a store to a Store. Who can reach it can change all of it.
type Handler struct {
	store store.Store

	mu      sync.Mutex
	uploads map[string]store.Upload
}

// NewHandler serves a store, which stays the caller's.
func NewHandler(s store.Store) *Handler {
	return &Handler{store: s, uploads: map[string]store.Upload{}}
}

// Route adds what the handler answers.
func (h *Handler) Route(mux *http.ServeMux) {
	for pattern, answer := range map[string]func(http.ResponseWriter, *http.Request) (any, error){
		"GET " + root:                               h.capabilities,
		"GET " + root + "/list":                     h.list,
		"POST " + root + "/sweep":                   h.sweep,
		"GET " + root + "/facts/{key...}":           h.head,
		"PUT " + root + "/objects/{key...}":         h.put,
		"DELETE " + root + "/objects/{key...}":      h.delete,
		"POST " + root + "/uploads":                 h.begin,
		"PUT " + root + "/uploads/{upload}/{part}":  h.part,
		"POST " + root + "/uploads/{upload}/commit": h.commit,
		"DELETE " + root + "/uploads/{upload}":      h.abort,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			v, err := answer(w, r)
			if err != nil {
				faults().Refuse(w, err)
				return
			}
			wire.Answer(w, http.StatusOK, v)
		})
	}
	mux.HandleFunc("GET "+root+"/objects/{key...}", h.get)
}

// Close drops the uploads that nobody finished.
func (h *Handler) Close(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var failed []error
	for name, u := range h.uploads {
		failed = append(failed, u.Abort(ctx))
		delete(h.uploads, name)
	}
	return errors.Join(failed...)
}

type nothing struct{}

func (h *Handler) capabilities(_ http.ResponseWriter, r *http.Request) (any, error) {
	return h.store.Capabilities(r.Context())
}

func (h *Handler) list(_ http.ResponseWriter, r *http.Request) (any, error) {
	q := r.URL.Query()
	return h.store.List(r.Context(), q.Get("prefix"), q.Get("token"))
}

func (h *Handler) sweep(_ http.ResponseWriter, r *http.Request) (any, error) {
	before, err := moment(r, "before")
	if err != nil {
		return nil, err
	}
	n, err := h.store.Sweep(r.Context(), r.URL.Query().Get("prefix"), before)
	return sweepReply{Swept: n}, err
}

func (h *Handler) head(_ http.ResponseWriter, r *http.Request) (any, error) {
	return h.store.Head(r.Context(), r.PathValue("key"))
}

func (h *Handler) put(w http.ResponseWriter, r *http.Request) (any, error) {
	until, err := moment(r, "retain")
	if err != nil {
		return nil, err
	}
	body, err := read(w, r, store.MaxPut)
	if err != nil {
		return nil, err
	}
	return nothing{}, h.store.Put(r.Context(), r.PathValue("key"), body, store.Options{RetainUntil: until})
}

func (h *Handler) delete(_ http.ResponseWriter, r *http.Request) (any, error) {
	return nothing{}, h.store.Delete(r.Context(), r.PathValue("key"))
}

// get cuts the connection if the object can't be read to its end: the status is sent by then.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	offset, err := number(r, "offset")
	var length int64
	if err == nil {
		length, err = number(r, "length")
	}
	var body io.ReadCloser
	if err == nil {
		body, err = h.store.Get(r.Context(), r.PathValue("key"), offset, length)
	}
	if err != nil {
		faults().Refuse(w, err)
		return
	}
	defer func() { _ = body.Close() }()
	w.Header().Set("Content-Type", "application/octet-stream")
	// Hides ReadFrom, which would copy in small pieces.
	if _, err := io.CopyBuffer(struct{ io.Writer }{w}, body, make([]byte, wire.Chunk)); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (h *Handler) begin(_ http.ResponseWriter, r *http.Request) (any, error) {
	until, err := moment(r, "retain")
	if err != nil {
		return nil, err
	}
	// The upload outlives this request; the requests that use it end it.
	u, err := h.store.Upload(context.WithoutCancel(r.Context()), r.URL.Query().Get("key"),
		store.Options{RetainUntil: until})
	if err != nil {
		return nil, err
	}
	name := rand.Text()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.uploads[name] = u
	return uploadReply{Upload: name}, nil
}

// upload returns one that is on its way.
func (h *Handler) upload(r *http.Request) (store.Upload, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.uploads[r.PathValue("upload")]
	if u == nil {
		return nil, fmt.Errorf("%w: this upload is unknown here; begin it again", errRequest)
	}
	return u, nil
}

// forget drops one from the list.
func (h *Handler) forget(r *http.Request) store.Upload {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.uploads[r.PathValue("upload")]
	delete(h.uploads, r.PathValue("upload"))
	return u
}

func (h *Handler) part(w http.ResponseWriter, r *http.Request) (any, error) {
	u, err := h.upload(r)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(r.PathValue("part"))
	if err != nil {
		return nil, fmt.Errorf("%w: part %q", errRequest, r.PathValue("part"))
	}
	body, err := read(w, r, store.PartSize)
	if err != nil {
		return nil, err
	}
	return nothing{}, u.Part(r.Context(), n, body)
}

// commit keeps an upload that failed, for its client aborts it.
func (h *Handler) commit(_ http.ResponseWriter, r *http.Request) (any, error) {
	u, err := h.upload(r)
	if err != nil {
		return nil, err
	}
	parts, err := number(r, "parts")
	if err == nil {
		err = u.Commit(r.Context(), int(parts))
	}
	if err == nil {
		h.forget(r)
	}
	return nothing{}, err
}

// abort succeeds where nothing is left to drop.
func (h *Handler) abort(_ http.ResponseWriter, r *http.Request) (any, error) {
	if u := h.forget(r); u != nil {
		return nothing{}, u.Abort(r.Context())
	}
	return nothing{}, nil
}

func read(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil {
		return nil, fmt.Errorf("%w: read what is to be stored: %w", errRequest, err)
	}
	return body, nil
}

func number(r *http.Request, name string) (int64, error) {
	n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", errRequest, name, err)
	}
	return n, nil
}

// moment is the zero time if the request names none.
func moment(r *http.Request, name string) (time.Time, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, fmt.Errorf("%w: %s: %w", errRequest, name, err)
	}
	return t, nil
}
