package remote

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// serving serves a store, and returns one that reaches it.
func serving(t *testing.T, below store.Store) (*Store, *Handler) {
	t.Helper()
	mux, h := http.NewServeMux(), NewHandler(below)
	h.Route(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	dial := func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	s := New("pvc:backups", dial, nil)
	t.Cleanup(func() { _ = s.Close() })
	return s, h
}

func directory(t *testing.T) (*store.Directory, string) {
	t.Helper()
	root := t.TempDir()
	d, err := store.NewDirectory(root)
	if err != nil {
		t.Fatal(err)
	}
	return d, root
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		d, _ := directory(t)
		s, _ := serving(t, d)
		return s
	})
}

// failing is a store whose objects break off.
type failing struct{ store.Store }

func (f failing) Get(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader("half"), brokenReader{})), nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, os.ErrInvalid }

// TestBrokenStream: what can't be read to its end is no shorter object.
func TestBrokenStream(t *testing.T) {
	t.Parallel()
	d, _ := directory(t)
	s, _ := serving(t, failing{d})
	body, err := s.Get(t.Context(), "a", 0, -1)
	if err == nil {
		_, err = io.ReadAll(body)
	}
	if err == nil {
		t.Error("it ends well")
	}
}

// TestCloseDropsUploads: what a client began and left is dropped with its server.
func TestCloseDropsUploads(t *testing.T) {
	t.Parallel()
	d, root := directory(t)
	s, h := serving(t, d)
	u, err := s.Upload(t.Context(), "a", store.Options{})
	if err == nil {
		err = u.Part(t.Context(), 0, []byte("half"))
	}
	if err == nil {
		err = h.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(root + "/.part")
	if err != nil || len(left) > 0 {
		t.Errorf("%v stays, %v", left, err)
	}
	if err := u.Commit(t.Context(), 1); err == nil {
		t.Error("it can be finished still")
	}
	if err := u.Abort(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestBadRequests: nobody else is understood.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	d, _ := directory(t)
	mux := http.NewServeMux()
	NewHandler(d).Route(mux)
	for _, request := range []string{"GET /v1/store/objects/a?offset=x&length=1", "GET /v1/store/objects/a?offset=0",
		"PUT /v1/store/objects/a?retain=tomorrow", "PUT /v1/store/objects/../a", "POST /v1/store/sweep?before=x",
		"PUT /v1/store/uploads/none/0", "POST /v1/store/uploads?key=.part/x", "GET /v1/store/facts/.part/x"} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader("body")))
		if w.Code < 300 {
			t.Errorf("%s: %d %s", request, w.Code, w.Body)
		}
	}
}
