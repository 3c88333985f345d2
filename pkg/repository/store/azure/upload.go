package azure

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the store compares this sum; volumes have their own
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Upload stages blocks, which nobody sees before they are committed.
func (s *Store) Upload(ctx context.Context, key string, o store.Options) (store.Upload, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	if err := s.unretained(key, o); err != nil {
		return nil, err
	}
	return &upload{store: s, key: key, id: rand.Text()}, nil
}

// upload is one of perhaps several to the same key: they share the space of blocks that are not committed, so its
// blocks have names of their own.
type upload struct {
	store   *Store
	key, id string
}

// block is the name of a part. All names of one object have the same length, as the store demands.
func (u *upload) block(n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%06d", u.id, n))
}

func (u *upload) Part(ctx context.Context, n int, body []byte) error {
	s := u.store
	_, err := s.blob(u.key).StageBlock(ctx, u.block(n), streaming.NopCloser(bytes.NewReader(body)),
		&blockblob.StageBlockOptions{TransactionalValidation: sum(body)})
	return s.explain(ctx, err, fmt.Sprintf("write part %d of %s", n, u.key))
}

func (u *upload) Commit(ctx context.Context, parts int) error {
	s := u.store
	names := make([]string, parts)
	for n := range names {
		names[n] = u.block(n)
	}
	_, err := s.blob(u.key).CommitBlockList(ctx, names, &blockblob.CommitBlockListOptions{AccessConditions: absent()})
	return s.explain(ctx, err, "write "+u.key)
}

// Abort leaves the blocks to the store, which drops them within a week: no call can, unless it makes an object of that
// key appear for a moment.
func (u *upload) Abort(ctx context.Context) error { return ctx.Err() }

// compares reports whether the store refuses what differs from its checksum.
func (s *Store) compares(ctx context.Context) (bool, error) {
	key := "probe/checksum-" + rand.Text()
	err := s.put(ctx, key, []byte("checksum\n"), sum([]byte("something else")))
	var answer *azcore.ResponseError
	switch {
	case err == nil:
		return false, s.Delete(ctx, key)
	case errors.As(err, &answer) && answer.StatusCode == http.StatusBadRequest:
		return true, nil
	default:
		return false, s.explain(ctx, err, "write an object with a wrong checksum")
	}
}

func sum(body []byte) blob.TransferValidationType {
	s := md5.Sum(body) //nolint:gosec // as above
	return blob.TransferValidationTypeMD5(s[:])
}
