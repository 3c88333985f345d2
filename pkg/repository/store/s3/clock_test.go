package s3_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
)

// TestClock: whether an object is retained is judged by the store's clock, whatever this machine's says.
func TestClock(t *testing.T) {
	const locked = `<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention>` +
		`<Mode>GOVERNANCE</Mode><Days>30</Days></DefaultRetention></Rule></ObjectLockConfiguration>`
	for name, c := range map[string]struct {
		date   time.Duration // the store's clock against this machine's
		age    time.Duration
		freely bool
	}{
		"the same, young":                 {0, time.Hour, false},
		"the same, old":                   {0, 31 * 24 * time.Hour, true},
		"this machine is far ahead":       {-40 * 24 * time.Hour, time.Hour, false},
		"this machine is far behind, old": {40 * 24 * time.Hour, 31 * 24 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deleted := false
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				now := time.Now().Add(c.date).UTC()
				w.Header().Set("Date", now.Format(http.TimeFormat))
				switch {
				case r.URL.Query().Has("object-lock"):
					_, _ = fmt.Fprint(w, locked)
				case r.Method == http.MethodDelete:
					deleted = true
					w.WriteHeader(http.StatusNoContent)
				default:
					w.Header().Set("Last-Modified", now.Add(-c.age).Format(http.TimeFormat))
					w.Header().Set("ETag", `"x"`)
				}
			}))
			t.Cleanup(server.Close)
			s, err := s3.Open(s3.Config{Bucket: "backups", Endpoint: server.URL, Region: "us-east-1", PathStyle: true,
				Credentials: func(string) string { return "any" }})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Delete(t.Context(), "key")
			if deleted != c.freely || errors.Is(err, store.ErrRetained) == c.freely {
				t.Errorf("deleted: %t, %v", deleted, err)
			}
		})
	}
}
