package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// ErrFault is the error of a call that a Fault ended.
var ErrFault = errors.New("injected fault")

// Fault is a store whose calls fail on demand.
type Fault struct {
	store.Store

	// Before is asked before each call that reaches the store, After when it has succeeded: an error of Before is
	// that of a request that did not arrive, one of After of an answer that was lost. Either may be nil.
	Before, After func(call Call) error

	mu    sync.Mutex
	calls int
}

// Call is one request.
type Call struct {
	// Number counts from 1.
	Number int
	// Name is that of the method: put, get, head, list, delete, upload, part or commit.
	Name, Key string
}

// Calls is how many requests were made.
func (f *Fault) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// FailAt makes request n fail, and all that follow: the process died, or lost its connection.
func FailAt(n int) func(Call) error {
	return func(c Call) error {
		if c.Number >= n {
			return fmt.Errorf("%w: %s of %s", ErrFault, c.Name, c.Key)
		}
		return nil
	}
}

func (f *Fault) do(name, key string, work func() error) error {
	f.mu.Lock()
	f.calls++
	c := Call{Number: f.calls, Name: name, Key: key}
	f.mu.Unlock()
	if f.Before != nil {
		if err := f.Before(c); err != nil {
			return err
		}
	}
	if err := work(); err != nil {
		return err
	}
	if f.After != nil {
		return f.After(c)
	}
	return nil
}

func (f *Fault) Put(ctx context.Context, key string, body []byte, o store.Options) error {
	return f.do("put", key, func() error { return f.Store.Put(ctx, key, body, o) })
}

func (f *Fault) Get(ctx context.Context, key string, offset, length int64) (r io.ReadCloser, err error) {
	err = f.do("get", key, func() (err error) {
		r, err = f.Store.Get(ctx, key, offset, length)
		return err
	})
	if err != nil && r != nil {
		err = errors.Join(err, r.Close())
	}
	return r, err
}

func (f *Fault) Head(ctx context.Context, key string) (o store.Object, err error) {
	err = f.do("head", key, func() (err error) {
		o, err = f.Store.Head(ctx, key)
		return err
	})
	return o, err
}

func (f *Fault) List(ctx context.Context, prefix, token string) (p store.Page, err error) {
	err = f.do("list", prefix, func() (err error) {
		p, err = f.Store.List(ctx, prefix, token)
		return err
	})
	return p, err
}

func (f *Fault) Delete(ctx context.Context, key string) error {
	return f.do("delete", key, func() error { return f.Store.Delete(ctx, key) })
}

func (f *Fault) Upload(ctx context.Context, key string, o store.Options) (u store.Upload, err error) {
	err = f.do("upload", key, func() (err error) {
		u, err = f.Store.Upload(ctx, key, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &faultUpload{Upload: u, fault: f, key: key}, nil
}

type faultUpload struct {
	store.Upload

	fault *Fault
	key   string
}

func (u *faultUpload) Part(ctx context.Context, n int, body []byte) error {
	return u.fault.do("part", u.key, func() error { return u.Upload.Part(ctx, n, body) })
}

func (u *faultUpload) Commit(ctx context.Context, parts int) error {
	return u.fault.do("commit", u.key, func() error { return u.Upload.Commit(ctx, parts) })
}
