// Package gcs keeps objects in a bucket of Google Cloud Storage, by its JSON API.
package gcs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

const (
	pageSize = 1000
	// absent is the generation that is not there: the condition of everything that is put.
	absent = "0"
	// headroom is what is around the two parts of a put.
	headroom = 1000
	fields   = "name,size,timeCreated,crc32c,generation"
)

// Store is one bucket, or what is below a prefix of one.
type Store struct {
	client   *http.Client
	tokens   oauth2.TokenSource
	endpoint *url.URL
	// prefix is "" or ends with a slash.
	bucket, prefix string
	// wait is the one before the second attempt of a request.
	wait time.Duration
}

var _ store.Store = (*Store)(nil)

// URL is "gs://BUCKET/PREFIX".
func (s *Store) URL() string { return "gs://" + s.bucket + "/" + strings.TrimSuffix(s.prefix, "/") }

// Close drops idle connections.
func (s *Store) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// resource is what the store says about one object.
type resource struct {
	Name       string    `json:"name"`
	Size       int64     `json:"size,string"`
	Created    time.Time `json:"timeCreated"`
	CRC32C     string    `json:"crc32c"`
	Generation string    `json:"generation"`
}

func (s *Store) object(r resource) store.Object {
	return store.Object{Key: strings.TrimPrefix(r.Name, s.prefix), Size: r.Size, Modified: r.Created}
}

func (s *Store) objects() string { return "/storage/v1/b/" + url.PathEscape(s.bucket) + "/o" }

func (s *Store) path(key string) string { return s.objects() + "/" + url.PathEscape(s.prefix+key) }

// Put sends a checksum and the condition that nothing is there.
func (s *Store) Put(ctx context.Context, key string, body []byte, o store.Options) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	if err := s.unretained(key, o); err != nil {
		return err
	}
	sum := crc32c(body)
	made, err := s.put(ctx, key, body, sum)
	if err == nil && (made.CRC32C != sum || made.Size != int64(len(body))) {
		err = s.dropOther(ctx, key, made, int64(len(body)), sum)
	}
	return s.explain(ctx, err, "write "+key)
}

// unretained refuses a retention: it is a policy of the bucket here, which nothing could prove in tests.
func (s *Store) unretained(key string, o store.Options) error {
	if o.RetainUntil.IsZero() {
		return nil
	}
	return fmt.Errorf("write %s in %s: %w: set a retention policy on the bucket instead", key, s.URL(),
		store.ErrUnsupported)
}

// put sends the description of the object and its body in one request.
func (s *Store) put(ctx context.Context, key string, body []byte, sum string) (made resource, err error) {
	about, err := json.Marshal(map[string]string{"name": s.prefix + key, "crc32c": sum})
	if err != nil {
		return made, err
	}
	var content bytes.Buffer
	content.Grow(len(body) + len(about) + headroom)
	parts := multipart.NewWriter(&content)
	for _, part := range []struct {
		kind string
		body []byte
	}{{"application/json", about}, {"application/octet-stream", body}} {
		w, err := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {part.kind}})
		if err == nil {
			_, err = w.Write(part.body)
		}
		if err != nil {
			return made, err
		}
	}
	if err := parts.Close(); err != nil {
		return made, err
	}
	c := call{method: http.MethodPost, path: "/upload" + s.objects(), body: content.Bytes(),
		query:  url.Values{"uploadType": {"multipart"}, "ifGenerationMatch": {absent}, "fields": {fields}},
		header: map[string]string{"Content-Type": strings.Replace(parts.FormDataContentType(), "form-data", "related", 1)}}
	err = s.ask(ctx, c, &made)
	return made, err
}

// Get reads a range.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	c := call{method: http.MethodGet, path: s.path(key), query: url.Values{"alt": {"media"}}}
	switch {
	case length > 0:
		c.header = map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)}
	case offset > 0:
		c.header = map[string]string{"Range": fmt.Sprintf("bytes=%d-", offset)}
	}
	r, err := s.do(ctx, c)
	var answer *answerError
	if errors.As(err, &answer) && answer.status == http.StatusRequestedRangeNotSatisfiable {
		return io.NopCloser(strings.NewReader("")), nil // nothing lies behind the end
	}
	if err != nil {
		return nil, s.explain(ctx, err, "read "+key)
	}
	return r.Body, nil
}

// Head asks for the size and the time of an object.
func (s *Store) Head(ctx context.Context, key string) (store.Object, error) {
	if err := check(ctx, key); err != nil {
		return store.Object{}, err
	}
	var r resource
	c := call{method: http.MethodGet, path: s.path(key), query: url.Values{"fields": {fields}}}
	if err := s.ask(ctx, c, &r); err != nil {
		return store.Object{}, s.explain(ctx, err, "ask for "+key)
	}
	return s.object(r), nil
}

// List makes one request, or more where the store answers with pages that hold nothing.
func (s *Store) List(ctx context.Context, prefix, token string) (store.Page, error) {
	var page store.Page
	for {
		query := url.Values{"prefix": {s.prefix + prefix}, "maxResults": {strconv.Itoa(pageSize)},
			"fields": {"items(" + fields + "),nextPageToken"}}
		if token != "" {
			query.Set("pageToken", token)
		}
		var answer struct {
			Items []resource `json:"items"`
			Next  string     `json:"nextPageToken"`
		}
		if err := s.ask(ctx, call{method: http.MethodGet, path: s.objects(), query: query}, &answer); err != nil {
			return store.Page{}, s.explain(ctx, err, "list "+prefix)
		}
		for _, r := range answer.Items {
			page.Objects = append(page.Objects, s.object(r))
		}
		page.Next, token = answer.Next, answer.Next
		if len(page.Objects) > 0 || token == "" {
			return page, nil
		}
	}
}

// Delete removes an object. Where the bucket keeps deleted objects or versions, it stays, hidden, as the bucket's rules
// say.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	err := s.ask(ctx, call{method: http.MethodDelete, path: s.path(key)}, nil)
	if err = s.explain(ctx, err, "delete "+key); errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Sweep finds nothing: the store itself drops uploads that did not end within a week.
func (s *Store) Sweep(ctx context.Context, _ string, _ time.Time) (int, error) { return 0, ctx.Err() }

// Capabilities sends an object with a wrong checksum. The store answers no question about versions to who may only
// use the bucket's objects.
func (s *Store) Capabilities(ctx context.Context) (store.Capabilities, error) {
	compares, err := s.compares(ctx)
	return store.Capabilities{Checksums: compares}, err
}

// compares reports whether the store refuses what differs from its checksum.
func (s *Store) compares(ctx context.Context) (bool, error) {
	key := "probe/checksum-" + rand.Text()
	_, err := s.put(ctx, key, []byte("checksum\n"), crc32c([]byte("something else")))
	var answer *answerError
	switch {
	case err == nil:
		return false, s.Delete(ctx, key)
	case errors.As(err, &answer) && answer.status == http.StatusBadRequest:
		return true, nil
	default:
		return false, s.explain(ctx, err, "write an object with a wrong checksum")
	}
}

func check(ctx context.Context, key string) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	return ctx.Err()
}

// crc32c is the checksum that the store keeps of each object.
func crc32c(body []byte) string {
	return encoded(crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

func encoded(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// MakeBucket makes the bucket in a project, for what tests arrange.
func (s *Store) MakeBucket(ctx context.Context, project string) error {
	about, err := json.Marshal(map[string]string{"name": s.bucket})
	if err != nil {
		return err
	}
	c := call{method: http.MethodPost, path: "/storage/v1/b", query: url.Values{"project": {project}}, body: about,
		header: map[string]string{"Content-Type": "application/json"}}
	return s.explain(ctx, s.ask(ctx, c, nil), "make bucket "+s.bucket)
}
