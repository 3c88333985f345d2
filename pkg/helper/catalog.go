package helper

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// maxRequest bounds the JSON of a request.
const maxRequest = 1 << 20

// catalog answers what concerns finished backups.
type catalog struct{ repo *repository.Directory }

func (c catalog) route(mux *http.ServeMux) {
	mux.HandleFunc("GET "+repository.PathHealth, healthy)
	mux.HandleFunc("POST "+repository.PathProbe, c.probe)
	mux.HandleFunc("GET "+repository.PathBackups, c.list)
	mux.HandleFunc("GET "+repository.PathBackups+"/{id}", c.get)
	mux.HandleFunc("DELETE "+repository.PathBackups+"/{id}", c.delete)
	mux.HandleFunc("POST "+repository.PathBackups+"/{id}/verified", c.verified)
	mux.HandleFunc("POST "+repository.PathBackups+"/{id}/proofs", c.prove)
	mux.HandleFunc("POST "+repository.PathBackups+"/{id}/present", c.present)
	mux.HandleFunc("GET "+repository.PathBackups+"/{id}/data", c.data)
	mux.HandleFunc("GET "+repository.PathBackups+"/{id}/check", c.check)
}

func healthy(w http.ResponseWriter, _ *http.Request) { wire.Answer(w, http.StatusOK, struct{}{}) }

func (c catalog) probe(w http.ResponseWriter, r *http.Request) {
	free, err := c.repo.Probe(r.Context())
	reply(w, repository.ProbeReply{Free: free}, err)
}

func (c catalog) list(w http.ResponseWriter, r *http.Request) {
	list, err := c.repo.List(r.Context(), r.URL.Query().Get("cluster"))
	listing := repository.Listing{Manifests: list}
	broken, err := repository.SplitDamaged(err)
	if err != nil {
		repository.Faults().Refuse(w, err)
		return
	}
	for _, d := range broken {
		fault, _ := repository.Faults().Pack(d)
		listing.Broken = append(listing.Broken, repository.BrokenReply{ID: d.ID, Fault: *fault})
	}
	wire.Answer(w, http.StatusOK, listing)
}

func (c catalog) get(w http.ResponseWriter, r *http.Request) {
	m, err := c.repo.Get(r.Context(), r.PathValue("id"))
	reply(w, m, err)
}

func (c catalog) delete(w http.ResponseWriter, r *http.Request) {
	reply(w, struct{}{}, c.repo.Delete(r.Context(), r.PathValue("id")))
}

func (c catalog) verified(w http.ResponseWriter, r *http.Request) {
	var v repository.Verification
	err := decode(w, r, &v)
	if err == nil {
		err = c.repo.AddProof(r.Context(), r.PathValue("id"),
			repository.Proof{Level: repository.LevelRestorable, Verification: v})
	}
	reply(w, struct{}{}, err)
}

func (c catalog) prove(w http.ResponseWriter, r *http.Request) {
	var p repository.Proof
	err := decode(w, r, &p)
	if err == nil {
		err = c.repo.AddProof(r.Context(), r.PathValue("id"), p)
	}
	reply(w, struct{}{}, err)
}

func (c catalog) present(w http.ResponseWriter, r *http.Request) {
	reply(w, struct{}{}, c.repo.Present(r.Context(), r.PathValue("id")))
}

// data promises a length, so that the client sees a stream that ends early;
// damage at its end is for the client to find, which has the manifest.
func (c catalog) data(w http.ResponseWriter, r *http.Request) {
	data, m, err := c.repo.Reader(r.Context(), r.PathValue("id"))
	if err != nil {
		repository.Faults().Refuse(w, err)
		return
	}
	defer func() { _ = data.Close() }()
	manifest, err := json.Marshal(m)
	if err != nil {
		repository.Faults().Refuse(w, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Length", strconv.FormatInt(m.Bytes, 10))
	header.Set(repository.HeaderManifest, base64.StdEncoding.EncodeToString(manifest))
	// Hides ReadFrom, which would copy in small pieces.
	_, _ = io.CopyBuffer(struct{ io.Writer }{w}, data, make([]byte, wire.Chunk))
}

// checkEvery is how often a check says how far it is. Without a word for long, something on the way to the client might
// end the connection.
const checkEvery = time.Second

// check reads the data here, and says whether it is what the manifest says.
func (c catalog) check(w http.ResponseWriter, r *http.Request) {
	data, _, err := c.repo.Reader(r.Context(), r.PathValue("id"))
	if err != nil {
		repository.Faults().Refuse(w, err)
		return
	}
	defer func() { _ = data.Close() }()
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines, last := json.NewEncoder(w), time.Now()
	counter := repository.Counter{Report: func(n int64) {
		if time.Since(last) < checkEvery {
			return
		}
		last = time.Now()
		_ = lines.Encode(repository.CheckReply{Bytes: n}) // who went away ends the request
		_ = http.NewResponseController(w).Flush()
	}}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, counter.Reader(data), make([]byte, wire.Chunk))
	end := repository.CheckReply{Bytes: counter.Total(), Whole: err == nil}
	if err != nil {
		end.Fault, _ = repository.Faults().Pack(err)
	}
	_ = lines.Encode(end)
}

func reply(w http.ResponseWriter, v any, err error) {
	if err != nil {
		repository.Faults().Refuse(w, err)
		return
	}
	wire.Answer(w, http.StatusOK, v)
}

func decode(w http.ResponseWriter, r *http.Request, v any) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(v); err != nil {
		return fmt.Errorf("%w: %s %s: %w", repository.ErrRequest, r.Method, r.URL.Path, err)
	}
	return nil
}
