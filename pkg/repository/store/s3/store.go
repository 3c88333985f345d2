// Package s3 keeps objects in a bucket of Amazon S3, or of what speaks its protocol.
package s3

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

const (
	// attempts bounds how often a request is made while the store is busy or out of reach; they take some 5 seconds.
	attempts = 6
	pageSize = 1000

	headerCRC32C    = "x-amz-checksum-crc32c"
	headerAlgorithm = "x-amz-checksum-algorithm"
)

// Store is one bucket, or what is below a prefix of one.
type Store struct {
	client    *minio.Core
	transport *http.Transport
	// prefix is "" or ends with a slash.
	bucket, prefix string
	config         Config
	secure         bool
	lock           lock
	clock          clock
}

var _ store.Store = (*Store)(nil)

// URL is "s3://BUCKET/PREFIX".
func (s *Store) URL() string { return "s3://" + s.bucket + "/" + strings.TrimSuffix(s.prefix, "/") }

// Close drops idle connections.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// Put sends a checksum and the condition that nothing is there.
func (s *Store) Put(ctx context.Context, key string, body []byte, o store.Options) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	options := s.options(o)
	options.SetMatchETagExcept("*")
	if s.config.Checksum != ChecksumOff {
		options.UserMetadata = map[string]string{headerCRC32C: crc32c(body)}
	}
	return s.put(ctx, key, body, options)
}

func (s *Store) put(ctx context.Context, key string, body []byte, options minio.PutObjectOptions) error {
	_, err := s.client.PutObject(ctx, s.bucket, s.prefix+key, bytes.NewReader(body), int64(len(body)), "",
		s.signed(body), options)
	return s.explain(ctx, err, "write "+key)
}

// signed is what a request's signature covers of its body: TLS protects it, or the hash does.
func (s *Store) signed(body []byte) string {
	if s.secure {
		return ""
	}
	return sha256Hex(body)
}

func (s *Store) options(o store.Options) minio.PutObjectOptions {
	options := minio.PutObjectOptions{DisableContentSha256: s.secure, RetainUntilDate: o.RetainUntil}
	if !o.RetainUntil.IsZero() {
		options.Mode = minio.Governance
		if s.config.Retention == RetentionCompliance {
			options.Mode = minio.Compliance
		}
	}
	return options
}

// Get reads a range.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	var options minio.GetObjectOptions
	var err error
	switch {
	case length > 0:
		err = options.SetRange(offset, offset+length-1)
	case offset > 0:
		err = options.SetRange(offset, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	r, _, _, err := s.client.GetObject(ctx, s.bucket, s.prefix+key, options)
	if minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return io.NopCloser(strings.NewReader("")), nil // nothing lies behind the end
	}
	if err != nil {
		return nil, s.explain(ctx, err, "read "+key)
	}
	return r, nil
}

// Head asks for the size and the time of an object.
func (s *Store) Head(ctx context.Context, key string) (store.Object, error) {
	if err := check(ctx, key); err != nil {
		return store.Object{}, err
	}
	info, err := s.client.StatObject(ctx, s.bucket, s.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return store.Object{}, s.explain(ctx, err, "ask for "+key)
	}
	kept, err := s.kept(ctx, info)
	return store.Object{Key: key, Size: info.Size, Modified: info.LastModified, RetainedUntil: kept.until}, err
}

// List makes one request. The token is the last key of the page before.
func (s *Store) List(ctx context.Context, prefix, token string) (store.Page, error) {
	options := minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true, MaxKeys: pageSize}
	if token != "" {
		options.StartAfter = s.prefix + token
	}
	var page store.Page
	for info := range s.client.ListObjectsIter(ctx, s.bucket, options) {
		if info.Err != nil {
			return store.Page{}, s.explain(ctx, info.Err, "list "+prefix)
		}
		key := strings.TrimPrefix(info.Key, s.prefix)
		page.Objects = append(page.Objects, store.Object{Key: key, Size: info.Size, Modified: info.LastModified})
		if len(page.Objects) == pageSize {
			page.Next = key
			break
		}
	}
	// A listing that is cut short by its context ends without an error.
	return page, ctx.Err()
}

// Delete removes an object. In a bucket with versions the old one stays, hidden, as the bucket's rules say;
// one that object lock keeps is refused, though hiding it would succeed.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	info, err := s.client.StatObject(ctx, s.bucket, s.prefix+key, minio.StatObjectOptions{})
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return s.explain(ctx, err, "ask for "+key)
	}
	kept, err := s.kept(ctx, info)
	if err != nil {
		return err
	}
	if how := kept.String(); how != "" {
		return fmt.Errorf("delete %s in %s: %w %s", key, s.URL(), store.ErrRetained, how)
	}
	err = s.client.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{})
	return s.explain(ctx, err, "delete "+key)
}

// Sweep aborts unfinished multipart uploads.
func (s *Store) Sweep(ctx context.Context, prefix string, before time.Time) (int, error) {
	swept := 0
	var key, id string
	for {
		page, err := s.client.ListMultipartUploads(ctx, s.bucket, s.prefix+prefix, key, id, "", pageSize)
		if err != nil {
			return swept, s.explain(ctx, err, "list unfinished uploads")
		}
		for _, u := range page.Uploads {
			if !u.Initiated.Before(before) {
				continue
			}
			if err := s.client.AbortMultipartUpload(ctx, s.bucket, u.Key, u.UploadID); err != nil && !isGone(err) {
				return swept, s.explain(ctx, err, "abort an unfinished upload of "+u.Key)
			}
			swept++
		}
		if !page.IsTruncated {
			return swept, nil
		}
		key, id = page.NextKeyMarker, page.NextUploadIDMarker
	}
}

func check(ctx context.Context, key string) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	return ctx.Err()
}

func crc32c(body []byte) string {
	sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

func isGone(err error) bool { return minio.ToErrorResponse(err).StatusCode == http.StatusNotFound }

// explain says what was attempted where, in the words of package store.
func (s *Store) explain(ctx context.Context, err error, attempt string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s in %s: %w", attempt, s.URL(), errors.Join(ctx.Err(), err))
	}
	r := minio.ToErrorResponse(err)
	typed := error(nil)
	switch {
	case r.Code == "NoSuchBucket":
		return fmt.Errorf("%s in %s: there is no bucket %s; make it, or correct the name: %w", attempt, s.URL(),
			s.bucket, err)
	case r.StatusCode == http.StatusPreconditionFailed, r.Code == "ConditionalRequestConflict":
		typed = store.ErrExists
	case r.Code == "ObjectLocked":
		typed = store.ErrRetained
	case r.StatusCode == http.StatusNotFound:
		typed = store.ErrNotFound
	case r.StatusCode == http.StatusForbidden, r.StatusCode == http.StatusUnauthorized, r.Code == "ExpiredToken":
		typed = store.ErrDenied
	case r.StatusCode == http.StatusInsufficientStorage, strings.Contains(r.Code, "QuotaExceeded"),
		strings.Contains(r.Code, "StorageFull"), strings.Contains(r.Message, "no space left"):
		typed = store.ErrFull
	case r.Code == "NotImplemented", r.Code == "InvalidRequest" && strings.Contains(r.Message, "ock"):
		typed = store.ErrUnsupported
	case store.Unreachable(err, r.StatusCode):
		typed = store.ErrUnreachable
	default:
		return fmt.Errorf("%s in %s: %w", attempt, s.URL(), err)
	}
	return fmt.Errorf("%s in %s: %w: %w", attempt, s.URL(), typed, err)
}

// Client is the client below, for what tests arrange in a bucket.
func (s *Store) Client() *minio.Client { return s.client.Client }
