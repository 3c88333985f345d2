package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Capabilities asks for the bucket's object lock and versions, and sends an object with a wrong checksum. What
// the credentials may not ask counts as absent.
func (s *Store) Capabilities(ctx context.Context) (store.Capabilities, error) {
	var c store.Capabilities
	if versions, err := s.client.GetBucketVersioning(ctx, s.bucket); err == nil {
		c.Versioning = versions.Enabled()
	}
	if r, err := s.rule(ctx); err == nil {
		c.Retention, c.Default = r.enabled, r.String()
	}
	if s.config.Checksum != ChecksumOff {
		compares, err := s.compares(ctx)
		if err != nil {
			return c, err
		}
		c.Checksums = compares
	}
	if s.config.Checksum == ChecksumRequired && !c.Checksums {
		return c, fmt.Errorf("%w: %s stored an object under a wrong checksum, and checksums are required",
			store.ErrUnsupported, s.URL())
	}
	return c, ctx.Err()
}

// compares reports whether the store refuses what differs from its checksum.
func (s *Store) compares(ctx context.Context) (bool, error) {
	key := store.Trials + "checksum-" + rand.Text()
	options := s.options(store.Options{})
	options.UserMetadata = map[string]string{headerCRC32C: crc32c([]byte("something else"))}
	err := s.put(ctx, key, []byte("checksum\n"), options)
	if err == nil {
		if err = s.Delete(ctx, key); errors.Is(err, store.ErrRetained) {
			err = nil
		}
		return false, err
	}
	if errors.Is(err, store.ErrDenied) || ctx.Err() != nil {
		return false, err
	}
	return true, nil
}

// EnforcesRetention stores an object that is retained for some seconds and tries to delete that very version,
// which the store must refuse. The object goes as soon as it may.
func (s *Store) EnforcesRetention(ctx context.Context) (bool, error) {
	key, until := store.Trials+"retention-"+rand.Text(), s.clock.now().Add(retainProbe)
	options := s.options(store.Options{RetainUntil: until})
	options.UserMetadata = map[string]string{headerCRC32C: crc32c(nil)}
	info, err := s.client.PutObject(ctx, s.bucket, s.prefix+key, bytes.NewReader(nil), 0, "", s.signed(nil), options)
	if err != nil {
		return false, s.explain(ctx, err, "write a retained object")
	}
	version := minio.RemoveObjectOptions{VersionID: info.VersionID}
	if err := s.client.RemoveObject(ctx, s.bucket, s.prefix+key, version); err == nil {
		return false, nil
	}
	timer := time.NewTimer(retainProbe + time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return true, ctx.Err()
	}
	err = s.client.RemoveObject(ctx, s.bucket, s.prefix+key, version)
	return true, s.explain(ctx, err, "delete an object whose retention has ended")
}

// retainProbe is long enough to try a deletion, by a clock that may be two seconds behind, and short enough to wait
// for.
const retainProbe = 4 * time.Second
