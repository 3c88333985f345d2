// Package azure keeps objects in a container of Azure Blob Storage.
package azure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

const (
	// attempts bounds how often a request is made while the store is busy or out of reach.
	attempts = 4
	pageSize = 1000
)

// Store is one container, or what is below a prefix of one.
type Store struct {
	client    *container.Client
	transport *http.Transport
	// prefix is "" or ends with a slash.
	account, container, prefix string
}

var _ store.Store = (*Store)(nil)

// URL is "azure://ACCOUNT/CONTAINER/PREFIX".
func (s *Store) URL() string {
	return "azure://" + s.account + "/" + s.container + "/" + strings.TrimSuffix(s.prefix, "/")
}

// Close drops idle connections.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

func (s *Store) blob(key string) *blockblob.Client {
	return s.client.NewBlockBlobClient(s.prefix + key)
}

// absent is the condition that nothing is there.
func absent() *blob.AccessConditions {
	anything := azcore.ETagAny
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: &anything}}
}

// unretained refuses a retention: it is a policy of the container here, which nothing could prove in tests.
func (s *Store) unretained(key string, o store.Options) error {
	if o.RetainUntil.IsZero() {
		return nil
	}
	return fmt.Errorf("write %s in %s: %w: set an immutability policy on the container instead", key, s.URL(),
		store.ErrUnsupported)
}

// Put sends a checksum and the condition that nothing is there.
func (s *Store) Put(ctx context.Context, key string, body []byte, o store.Options) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	if err := s.unretained(key, o); err != nil {
		return err
	}
	return s.explain(ctx, s.put(ctx, key, body, sum(body)), "write "+key)
}

func (s *Store) put(ctx context.Context, key string, body []byte, sum blob.TransferValidationType) error {
	_, err := s.blob(key).Upload(ctx, streaming.NopCloser(bytes.NewReader(body)), &blockblob.UploadOptions{
		AccessConditions: absent(), TransactionalValidation: sum,
	})
	return err //nolint:wrapcheck // callers examine its code
}

// Get reads a range. A connection that breaks is followed by another one.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	r, err := s.blob(key).DownloadStream(ctx, &blob.DownloadStreamOptions{
		Range: blob.HTTPRange{Offset: offset, Count: max(length, 0)}, // none at 0 and 0
	})
	var answer *azcore.ResponseError
	if errors.As(err, &answer) && answer.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return io.NopCloser(strings.NewReader("")), nil // nothing lies behind the end
	}
	if err != nil {
		return nil, s.explain(ctx, err, "read "+key)
	}
	return r.NewRetryReader(ctx, nil), nil
}

// Head asks for the size and the time of an object.
func (s *Store) Head(ctx context.Context, key string) (store.Object, error) {
	if err := check(ctx, key); err != nil {
		return store.Object{}, err
	}
	p, err := s.blob(key).GetProperties(ctx, nil)
	if err != nil {
		return store.Object{}, s.explain(ctx, err, "ask for "+key)
	}
	return object(key, p.ContentLength, p.LastModified), nil
}

// List makes one request, or more where the store answers with pages that hold nothing.
func (s *Store) List(ctx context.Context, prefix, token string) (store.Page, error) {
	within, most := s.prefix+prefix, int32(pageSize)
	options := &container.ListBlobsFlatOptions{Prefix: &within, MaxResults: &most}
	if token != "" {
		options.Marker = &token
	}
	var page store.Page
	pages := s.client.NewListBlobsFlatPager(options)
	for len(page.Objects) == 0 && pages.More() {
		answer, err := pages.NextPage(ctx)
		if err != nil {
			return store.Page{}, s.explain(ctx, err, "list "+prefix)
		}
		for _, item := range answer.Segment.BlobItems {
			key := strings.TrimPrefix(*item.Name, s.prefix)
			page.Objects = append(page.Objects, object(key, item.Properties.ContentLength, item.Properties.LastModified))
		}
		page.Next = ""
		if answer.NextMarker != nil {
			page.Next = *answer.NextMarker
		}
	}
	return page, nil
}

// Delete removes an object. Where the container keeps deleted objects or versions, it stays, hidden, as the
// container's rules say.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	_, err := s.blob(key).Delete(ctx, nil)
	if err = s.explain(ctx, err, "delete "+key); errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Sweep finds nothing: the store itself drops blocks that were not committed within a week.
func (s *Store) Sweep(ctx context.Context, _ string, _ time.Time) (int, error) { return 0, ctx.Err() }

// Capabilities sends an object with a wrong checksum. The store answers no question about versions to who may only
// use the container.
func (s *Store) Capabilities(ctx context.Context) (store.Capabilities, error) {
	compares, err := s.compares(ctx)
	return store.Capabilities{Checksums: compares}, err
}

func object(key string, size *int64, modified *time.Time) store.Object {
	o := store.Object{Key: key}
	if size != nil {
		o.Size = *size
	}
	if modified != nil {
		o.Modified = *modified
	}
	return o
}

func check(ctx context.Context, key string) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	return ctx.Err()
}

// explain says what was attempted where, in the words of package store.
func (s *Store) explain(ctx context.Context, err error, attempt string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s in %s: %w", attempt, s.URL(), errors.Join(ctx.Err(), err))
	}
	var typed error
	var answer *azcore.ResponseError
	status := 0
	if errors.As(err, &answer) {
		status = answer.StatusCode
		err = fmt.Errorf("the store answers %d %s", status, answer.ErrorCode) // its text repeats the whole request
	}
	switch code := code(answer); {
	case code == bloberror.ContainerNotFound:
		return fmt.Errorf("%s in %s: there is no container %s; make it, or correct the name: %w", attempt, s.URL(),
			s.container, err)
	case code == bloberror.BlobAlreadyExists, status == http.StatusPreconditionFailed:
		typed = store.ErrExists
	case code == bloberror.BlobImmutableDueToPolicy:
		typed = store.ErrRetained
	case status == http.StatusNotFound:
		typed = store.ErrNotFound
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		typed = store.ErrDenied
	case status == http.StatusInsufficientStorage:
		typed = store.ErrFull
	case store.Unreachable(err, status):
		typed = store.ErrUnreachable
	default:
		return fmt.Errorf("%s in %s: %w", attempt, s.URL(), err)
	}
	return fmt.Errorf("%s in %s: %w: %w", attempt, s.URL(), typed, err)
}

func code(answer *azcore.ResponseError) bloberror.Code {
	if answer == nil {
		return ""
	}
	return bloberror.Code(answer.ErrorCode)
}

// Client is the client below, for what tests arrange in an account.
func (s *Store) Client() *container.Client { return s.client }
