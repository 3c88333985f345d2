package remote

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Upload begins a large object.
func (s *Store) Upload(ctx context.Context, key string, o store.Options) (store.Upload, error) {
	if err := store.CheckKey(key); err != nil {
		return nil, err
	}
	query := url.Values{"key": {key}}
	if r := retain(o); r != nil {
		query["retain"] = r["retain"]
	}
	var out uploadReply
	if err := s.call(ctx, http.MethodPost, "/uploads", query, nil, &out); err != nil {
		return nil, s.explain(err, "begin "+key)
	}
	return &upload{store: s, key: key, path: "/uploads/" + url.PathEscape(out.Upload)}, nil
}

// upload is one object on its way. The server knows what of it has arrived.
type upload struct {
	store     *Store
	key, path string
}

func (u *upload) Part(ctx context.Context, n int, body []byte) error {
	err := u.store.call(ctx, http.MethodPut, u.path+"/"+strconv.Itoa(n), nil, body, nil)
	return u.store.explain(err, "write part "+strconv.Itoa(n)+" of "+u.key)
}

func (u *upload) Commit(ctx context.Context, parts int) error {
	err := u.store.call(ctx, http.MethodPost, u.path+"/commit", url.Values{"parts": {strconv.Itoa(parts)}}, nil, nil)
	return u.store.explain(err, "write "+u.key)
}

func (u *upload) Abort(ctx context.Context) error {
	return u.store.explain(u.store.call(ctx, http.MethodDelete, u.path, nil, nil, nil), "drop unfinished "+u.key)
}
