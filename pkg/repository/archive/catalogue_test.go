package archive

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// pagesOnly is a store that counts pages, has no other request, and fails for one kind of object.
type pagesOnly struct {
	store.Store

	listed atomic.Int32
	fails  string
}

var errListing = errors.New("the store is away")

func (p *pagesOnly) List(ctx context.Context, prefix, token string) (store.Page, error) {
	p.listed.Add(1)
	if p.fails != "" && strings.HasPrefix(prefix, p.fails+"/") {
		return store.Page{}, errListing
	}
	return p.Store.List(ctx, prefix, token)
}

func (p *pagesOnly) Get(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return nil, errors.New("an object was read")
}

func (p *pagesOnly) Head(context.Context, string) (store.Object, error) {
	return store.Object{}, errors.New("an object was asked for")
}

// TestListPages lists 2,500 backups, of which each is proven and the newest is held.
func TestListPages(t *testing.T) {
	d := directory(t)
	root := strings.TrimPrefix(d.URL(), "dir:")
	const backups = 2500
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	until := first.Add(time.Hour)
	name := func(at time.Time) string { return ulid.MustNew(ulid.Timestamp(at), rand.Reader).String() }
	put := func(kind, rest string) {
		t.Helper()
		file := filepath.Join(root, filepath.FromSlash(scope.prefix(kind)+rest+".json")) // put would wait for the disk
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("{}"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var attempt string
	for i := range backups {
		at := first.Add(time.Duration(i) * time.Minute)
		attempt = name(at)
		put(kindManifest, fmt.Sprintf("%s_n-b%d_e-etcd_b-1_f-%d", attempt, i, at.Unix()))
		put(kindProof, fmt.Sprintf("%s_l-%s_u-%s", attempt, LevelIntact, name(at)))
	}
	put(kindHold, fmt.Sprintf("%s_t-%d_u-%s", attempt, until.Unix(), name(first)))
	s := &pagesOnly{Store: d}
	c, err := Open(s, Keys{}).List(t.Context(), Scope{})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Entries) != backups || c.Entries[0].ID != fmt.Sprintf("b%d", backups-1) {
		t.Fatalf("%d backups are listed", len(c.Entries))
	}
	for i, e := range c.Entries {
		if e.Proof == nil || e.Proof.Level != LevelIntact || e.HeldUntil.Equal(until) != (i == 0) {
			t.Fatalf("backup %d is %+v", i, e)
		}
	}
	if n := s.listed.Load(); n > 3+3+1 {
		t.Errorf("it took %d pages", n)
	}
	for _, kind := range []string{kindManifest, kindProof, kindHold} {
		if c, err := Open(&pagesOnly{Store: d, fails: kind}, Keys{}).List(t.Context(), scope); !errors.Is(err, errListing) {
			t.Errorf("without %s: %v, %v", kind, c, err)
		}
	}
}
