package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"

	"github.com/minio/minio-go/v7"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Upload begins a multipart upload.
func (s *Store) Upload(ctx context.Context, key string, o store.Options) (store.Upload, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	options := s.options(o)
	if s.config.Checksum != ChecksumOff {
		options.UserMetadata = map[string]string{headerAlgorithm: "CRC32C"}
	}
	id, err := s.client.NewMultipartUpload(ctx, s.bucket, s.prefix+key, options)
	if err != nil {
		return nil, s.explain(ctx, err, "begin "+key)
	}
	return &upload{store: s, key: key, id: id, parts: map[int]minio.CompletePart{}}, nil
}

type upload struct {
	store   *Store
	key, id string

	mu       sync.Mutex
	parts    map[int]minio.CompletePart
	finished bool
}

func (u *upload) Part(ctx context.Context, n int, body []byte) error {
	s := u.store
	options := minio.PutObjectPartOptions{DisableContentSha256: s.secure, Sha256Hex: s.signed(body)}
	part := minio.CompletePart{PartNumber: n + 1}
	if s.config.Checksum != ChecksumOff {
		part.ChecksumCRC32C = crc32c(body)
		options.CustomHeader = http.Header{}
		options.CustomHeader.Set(headerCRC32C, part.ChecksumCRC32C)
	}
	stored, err := s.client.PutObjectPart(ctx, s.bucket, s.prefix+u.key, u.id, n+1, bytes.NewReader(body),
		int64(len(body)), options)
	if err != nil {
		return s.explain(ctx, err, fmt.Sprintf("write part %d of %s", n, u.key))
	}
	part.ETag = stored.ETag
	if stored.ChecksumCRC32C == "" {
		part.ChecksumCRC32C = "" // a store that ignored it must not be reminded of it
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.parts[n] = part
	return nil
}

// Commit is conditional too, but stores that know the condition for Put may not know it here: names of
// uploads should be unique by themselves.
func (u *upload) Commit(ctx context.Context, parts int) error {
	s := u.store
	list := make([]minio.CompletePart, parts)
	u.mu.Lock()
	for n := range list {
		part, ok := u.parts[n]
		if !ok {
			u.mu.Unlock()
			return fmt.Errorf("write %s in %s: part %d is missing", u.key, s.URL(), n)
		}
		list[n] = part
	}
	u.mu.Unlock()
	var options minio.PutObjectOptions
	options.SetMatchETagExcept("*")
	if _, err := s.client.CompleteMultipartUpload(ctx, s.bucket, s.prefix+u.key, u.id, list, options); err != nil {
		return s.explain(ctx, err, "write "+u.key)
	}
	u.finished = true
	return nil
}

func (u *upload) Abort(ctx context.Context) error {
	if u.finished {
		return nil
	}
	s := u.store
	if err := s.client.AbortMultipartUpload(ctx, s.bucket, s.prefix+u.key, u.id); err != nil && !isGone(err) {
		return s.explain(ctx, err, "drop unfinished "+u.key)
	}
	u.finished = true
	return nil
}

func sha256Hex(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
