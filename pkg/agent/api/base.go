package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Base is a backup on which a member can make a copy of the changes, because it keeps what that needs.
type Base struct {
	// Backup is its identifier in a repository.
	Backup     string `json:"backup"`
	Repository string `json:"repository"`
}

// Incrementer is what a Copier also is whose database can copy only what changed since a backup.
type Incrementer interface {
	// Bases are the backups since which the changes can be copied, newest first.
	Bases() []Base
	// KeepBase keeps what a backup left for that, in place of that of earlier ones. A Refused says why no changes since
	// it could be copied.
	KeepBase(ctx context.Context, b Base, content []byte) error
	// Increment writes what changed since a backup, as Copy writes all.
	Increment(ctx context.Context, backup string, w io.Writer) error
	// Checkpoint has the server of a primary write one, and returns the place in the log behind it. A Refused says why
	// nobody needs it.
	Checkpoint(ctx context.Context) (uint64, error)
	// Reached waits until the server has all up to a place in the log.
	Reached(ctx context.Context, upTo uint64) error
}

// MostBase is how large what a backup leaves may be. It is about 150 bytes for each file of the database.
const MostBase = 64 << 20

// handleBases adds the requests about copies of changes. One of them takes more bytes than others.
func (s *Service) handleBases(mux *http.ServeMux) {
	does := func(do func(Incrementer, http.ResponseWriter, *http.Request)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			i, ok := s.Copier.(Incrementer)
			if !ok {
				finish(w, Refused{Why: "this member can't copy only what changed"})
				return
			}
			do(i, w, r)
		}
	}
	mux.HandleFunc("PUT /v1/bases/{backup}", does(func(i Incrementer, w http.ResponseWriter, r *http.Request) {
		content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MostBase))
		if err != nil {
			finish(w, Refused{Why: "the request can't be read: " + err.Error()})
			return
		}
		finish(w, i.KeepBase(r.Context(), Base{Backup: r.PathValue("backup"), Repository: r.URL.Query().Get("repository")},
			content))
	}))
	mux.HandleFunc("GET /v1/bases/{backup}/changes", does(func(i Incrementer, w http.ResponseWriter, r *http.Request) {
		s.copy(w, r, func(ctx context.Context, to io.Writer) error { return i.Increment(ctx, r.PathValue("backup"), to) })
	}))
	checkpoint := func(i Incrementer, w http.ResponseWriter, r *http.Request) {
		at, err := i.Checkpoint(r.Context())
		if err != nil {
			finish(w, err)
			return
		}
		answer(w, http.StatusOK, at)
	}
	mux.HandleFunc("POST /v1/checkpoint", s.onPrimaryWithin(checkpointTimeout, does(checkpoint)))
}

// checkpointTimeout is how long a checkpoint may take: all that changed goes to the disk.
const checkpointTimeout = 15 * time.Minute

// reached waits until this member has all up to the place in the log that a request for a copy names, if it names one.
func (s *Service) reached(r *http.Request) error {
	i, ok := s.Copier.(Incrementer)
	upTo, err := strconv.ParseUint(r.URL.Query().Get(upTo), 10, 64)
	if !ok || err != nil {
		return nil //nolint:nilerr // it names none
	}
	return i.Reached(r.Context(), upTo)
}

// upTo is the parameter that names a place in the log.
const upTo = "up-to"

// bases are what status tells.
func (s *Service) bases() []Base {
	if i, ok := s.Copier.(Incrementer); ok {
		return i.Bases()
	}
	return nil
}

// KeepBase has this very member keep what a backup left.
func (c *Client) KeepBase(ctx context.Context, b Base, content []byte) error {
	path := "/v1/bases/" + url.PathEscape(b.Backup) + "?" + url.Values{"repository": {b.Repository}}.Encode()
	got, err := c.sendBytes(ctx, http.MethodPut, path, content)
	if err != nil {
		return err
	}
	defer got.Body.Close() //nolint:errcheck // it was read
	return c.take(got, nil)
}

// Increment writes a copy of what changed in the data of this very member since a backup, up to a place in the log at
// least. Only without an error it is whole.
func (c *Client) Increment(ctx context.Context, backup string, place uint64, w io.Writer) error {
	if err := c.stream(ctx, "/v1/bases/"+url.PathEscape(backup)+"/changes", place, w); err != nil {
		return fmt.Errorf("copy what changed since backup %s: %w", backup, err)
	}
	return nil
}

// Checkpoint has the primary write a checkpoint, and returns the place in the log behind it: a replica begins a copy at
// the last one that it has.
func (c *Client) Checkpoint(ctx context.Context) (uint64, error) {
	var at uint64
	return at, c.do(ctx, http.MethodPost, "/v1/checkpoint", nil, &at)
}
