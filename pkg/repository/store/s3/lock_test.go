package s3_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestRule: credentials that may not see the retention of an object, or not the bucket's rule, and a store that is
// busy. What is not known to be free is not deleted.
func TestRule(t *testing.T) {
	const locked = `<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention>` +
		`<Mode>COMPLIANCE</Mode><Years>1</Years></DefaultRetention></Rule></ObjectLockConfiguration>`
	const denied = `<Error><Code>AccessDenied</Code></Error>`
	for name, c := range map[string]struct {
		status  int
		body    string
		kept    error
		deleted bool
	}{
		"a rule of a year": {http.StatusOK, locked, store.ErrRetained, false},
		"denied":           {http.StatusForbidden, denied, nil, true},
		"not known":        {http.StatusNotImplemented, "", nil, true},
		"another answer":   {http.StatusOK, "<ListBucketResult></ListBucketResult>", nil, true},
		"busy":             {http.StatusServiceUnavailable, "", errAny, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deleted := false
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Query().Has("object-lock"):
					w.WriteHeader(c.status)
					_, _ = fmt.Fprint(w, c.body)
				case r.Method == http.MethodDelete:
					deleted = true
					w.WriteHeader(http.StatusNoContent)
				default:
					w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
					w.Header().Set("ETag", `"x"`)
				}
			}))
			t.Cleanup(server.Close)
			s, err := s3.Open(s3.Config{Bucket: "backups", Endpoint: server.URL, Region: "us-east-1", PathStyle: true,
				Credentials: func(string) string { return "any" }})
			if err != nil {
				t.Fatal(err)
			}
			// This store takes what differs from its checksum, and that object may stay as well.
			if got, err := s.Capabilities(t.Context()); got.Checksums || (err == nil) == errors.Is(c.kept, errAny) {
				t.Errorf("%+v, %v", got, err)
			}
			deleted = false
			err = s.Delete(t.Context(), "key")
			if deleted != c.deleted || (err == nil) != (c.kept == nil) ||
				errors.Is(err, store.ErrRetained) != errors.Is(c.kept, store.ErrRetained) {
				t.Errorf("deleted: %t, %v", deleted, err)
			}
		})
	}
}

var errAny = errors.New("any error")

// TestDefaultRetention: in a bucket that retains each new object the clock and the capabilities can be asked, and an
// object stays in sight, though a deletion that only hides it would succeed.
func TestDefaultRetention(t *testing.T) {
	s, err := s3.Open(storetest.StartS3(t).Retaining(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	want := store.Capabilities{Retention: true, Versioning: true, Checksums: true, Default: "governance for 1 days"}
	if c, err := s.Capabilities(ctx); err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
	if now, _, err := store.Clock(ctx, s); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("%s, %v", now, err)
	}
	if err := s.Put(ctx, "kept", []byte("x"), store.Options{}); err != nil {
		t.Fatal(err)
	}
	o, err := s.Head(ctx, "kept")
	if left := time.Until(o.RetainedUntil); err != nil || left < 23*time.Hour || left > 25*time.Hour {
		t.Errorf("%+v, %v", o, err)
	}
	if err := s.Delete(ctx, "kept"); !errors.Is(err, store.ErrRetained) ||
		!strings.Contains(err.Error(), o.RetainedUntil.Format(time.RFC3339)) {
		t.Error(err)
	}
	if got := storetest.Content(t, s, "kept"); got != "x" {
		t.Error(got)
	}
	if got := versions(t, s, "kept"); got != "x" {
		t.Errorf("versions %q", got)
	}
}

// TestVersions pins what a deletion is where old versions stay: a marker hides the object, and its content stays.
func TestVersions(t *testing.T) {
	s, err := s3.Open(storetest.StartS3(t).Config(t, true))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := s.Put(ctx, "hidden", []byte("x"), store.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(ctx, "hidden"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Head(ctx, "hidden"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
	if got := versions(t, s, "hidden"); got != "marker x" {
		t.Errorf("versions %q", got)
	}
}

// TestLegalHold: an object that a person holds stays, without a time.
func TestLegalHold(t *testing.T) {
	c := storetest.StartS3(t).Config(t, true)
	s, err := s3.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "held", []byte("x"), store.Options{}); err != nil {
		t.Fatal(err)
	}
	on := minio.LegalHoldEnabled
	err = s.Client().PutObjectLegalHold(t.Context(), c.Bucket, c.Prefix+"/held",
		minio.PutObjectLegalHoldOptions{Status: &on})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "held"); !errors.Is(err, store.ErrRetained) ||
		!strings.Contains(err.Error(), "legal hold") {
		t.Error(err)
	}
}

// versions are those of an object, newest first.
func versions(t *testing.T, s *s3.Store, key string) string {
	t.Helper()
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(s.URL(), "s3://"), "/")
	var out []string
	for info := range s.Client().ListObjectsIter(t.Context(), bucket,
		minio.ListObjectsOptions{Prefix: prefix + "/" + key, WithVersions: true, Recursive: true}) {
		if info.Err != nil {
			t.Fatal(info.Err)
		}
		if info.IsDeleteMarker {
			out = append(out, "marker")
			continue
		}
		body, err := s.Client().GetObject(t.Context(), bucket, info.Key, minio.GetObjectOptions{VersionID: info.VersionID})
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(content))
	}
	return strings.Join(out, " ")
}
