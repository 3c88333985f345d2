package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// Store is a store that a Handler serves. It never repeats a request by itself.
type Store struct {
	url    string
	client *http.Client
	close  func() error
}

var _ store.Store = (*Store)(nil)

// New names a store by its URL for people, and reaches it by dial. Nothing is dialled before the first call. Close
// calls end, unless that is nil.
func New(url string, dial wire.Dial, end func() error) *Store {
	return &Store{url: url, client: wire.NewClient(dial), close: end}
}

// URL is what New was given.
func (s *Store) URL() string { return s.url }

// Close drops idle connections, and ends what serves them.
func (s *Store) Close() error {
	s.client.CloseIdleConnections()
	if s.close == nil {
		return nil
	}
	return s.close()
}

// Capabilities are those of the store behind the server.
func (s *Store) Capabilities(ctx context.Context) (store.Capabilities, error) {
	var out store.Capabilities
	err := s.call(ctx, http.MethodGet, "", nil, nil, &out)
	return out, s.explain(err, "ask what the store can do")
}

// Put stores a whole object.
func (s *Store) Put(ctx context.Context, key string, body []byte, o store.Options) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	return s.explain(s.call(ctx, http.MethodPut, "/objects/"+key, retain(o), body, nil), "write "+key)
}

// Get reads a part of an object. A stream that ends early ends in an error.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := store.CheckKey(key); err != nil {
		return nil, err
	}
	query := url.Values{"offset": {strconv.FormatInt(offset, 10)}, "length": {strconv.FormatInt(length, 10)}}
	resp, err := s.send(ctx, http.MethodGet, "/objects/"+key, query, nil)
	if err != nil {
		return nil, s.explain(err, "read "+key)
	}
	return resp.Body, nil
}

// Head describes one object.
func (s *Store) Head(ctx context.Context, key string) (store.Object, error) {
	var out store.Object
	if err := store.CheckKey(key); err != nil {
		return out, err
	}
	err := s.call(ctx, http.MethodGet, "/facts/"+key, nil, nil, &out)
	return out, s.explain(err, "ask for "+key)
}

// List returns one page.
func (s *Store) List(ctx context.Context, prefix, token string) (store.Page, error) {
	var out store.Page
	err := s.call(ctx, http.MethodGet, "/list", url.Values{"prefix": {prefix}, "token": {token}}, nil, &out)
	return out, s.explain(err, "list "+prefix)
}

// Delete removes an object.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	return s.explain(s.call(ctx, http.MethodDelete, "/objects/"+key, nil, nil, nil), "delete "+key)
}

// Sweep drops uploads that nobody finished.
func (s *Store) Sweep(ctx context.Context, prefix string, before time.Time) (int, error) {
	var out sweepReply
	err := s.call(ctx, http.MethodPost, "/sweep",
		url.Values{"prefix": {prefix}, "before": {before.UTC().Format(time.RFC3339Nano)}}, nil, &out)
	return out.Swept, s.explain(err, "drop unfinished uploads")
}

func retain(o store.Options) url.Values {
	if o.RetainUntil.IsZero() {
		return nil
	}
	return url.Values{"retain": {o.RetainUntil.UTC().Format(time.RFC3339Nano)}}
}

func (s *Store) explain(err error, attempt string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in %s: %w", attempt, s.url, err)
}

// maxAnswer bounds an answer that is no object: a page of a thousand long keys is smaller.
const maxAnswer = 4 << 20

// call decodes the answer into out, unless that is nil.
func (s *Store) call(ctx context.Context, method, path string, query url.Values, body []byte, out any) (err error) {
	resp, err := s.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && out != nil {
		err = json.Unmarshal(content, out)
	}
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// send returns only answers that are a success.
func (s *Store) send(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	at := "http://store" + root + path + "?" + query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body)) //nolint:gosec // dial says where to
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req) //nolint:gosec // dial says where to
	if err != nil {
		return nil, err
	}
	return resp, faults().Check(resp)
}
