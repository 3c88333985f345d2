package bucket

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// inS3 is a repository in a bucket.
func inS3(t *testing.T, c s3.Config, change func(*Description)) *Repository {
	t.Helper()
	d, s := described(t)
	d.URL, d.Endpoint, d.Region, d.PathStyle, d.CA = "s3://"+c.Bucket+"/"+c.Prefix, c.Endpoint, c.Region, c.PathStyle,
		string(c.CA)
	change(&d)
	for _, name := range CredentialNames() {
		s[name] = []byte(c.Credentials(name))
	}
	r, err := Open(d, s, "shop", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestRetained: what a description retains, and what a bucket retains by itself, is written, read, held and listed, and
// neither a person nor a retention deletes it before.
func TestRetained(t *testing.T) {
	server := storetest.StartS3(t)
	for name, r := range map[string]*Repository{
		"the bucket": inS3(t, server.Retaining(t), func(*Description) {}),
		"governance": inS3(t, server.Config(t, true), func(d *Description) { d.Retain = "1d" }),
		"compliance": inS3(t, server.Config(t, true), func(d *Description) { d.Retain, d.RetainMode = "1d", "compliance" }),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := r.Probe(t.Context()); err != nil {
				t.Error(err)
			}
			content := string(storetest.Noise(9 << 20))
			m, err := save(t, r, "op-1", content)
			if err != nil {
				t.Fatal(err)
			}
			if left := time.Until(retainedUntil(m.RetainUntil)); (name != "the bucket") != (left > 23*time.Hour) {
				t.Errorf("it is retained until %v", m.RetainUntil)
			}
			if err := r.Hold(t.Context(), id, time.Second, "restore"); err != nil {
				t.Error(err)
			}
			in, _, err := r.Reader(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if read, err := io.ReadAll(in); err != nil || string(read) != content {
				t.Errorf("read %d bytes, %v", len(read), err)
			}
			if all, err := r.List(t.Context(), "my-db"); err != nil || len(all) != 1 {
				t.Errorf("%+v, %v", all, err)
			}
			newer(t, r)
			if err := r.Delete(t.Context(), id); !errors.Is(err, store.ErrRetained) ||
				!strings.Contains(err.Error(), "retained by the store until 20") || !strings.Contains(err.Error(), "repeat") {
				t.Errorf("a deletion by hand: %v", err)
			}
			plan, err := r.Plan(t.Context(), "my-db", Pruning{By: archive.Retention{Last: 1}})
			if err != nil {
				t.Fatal(err)
			}
			done, err := r.Prune(t.Context(), plan)
			if err != nil || len(done.Deleted) != 0 || !slices.Equal(done.Retained, []string{id}) {
				t.Errorf("%+v, %v", done, err)
			}
			mode := map[string]string{"compliance": "COMPLIANCE", "governance": "GOVERNANCE"}[name]
			if got := modes(t, r); mode != "" && !slices.Equal(got, []string{mode}) {
				t.Errorf("modes %q", got)
			}
		})
	}
}

func retainedUntil(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// newer takes a second backup, once no hold is left.
func newer(t *testing.T, r *Repository) {
	t.Helper()
	<-time.After(2 * time.Second) // the hold was for one
	w, err := r.Writer(t.Context(), "my-db-20261124T101500Z-0a1b", "op-2")
	if err == nil {
		_, err = fmt.Fprint(w, "pages")
	}
	if err == nil {
		_, err = w.Commit(t.Context(), manifest(), opened)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// modes are those in which volumes are retained.
func modes(t *testing.T, r *Repository) []string {
	t.Helper()
	s, ok := r.store.(*s3.Store)
	if !ok {
		t.Fatalf("%T", r.store)
	}
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(s.URL(), "s3://"), "/")
	var out []string
	for _, key := range storetest.Keys(t, s, "data/") {
		info, err := s.Client().StatObject(t.Context(), bucket, prefix+"/"+key, minio.StatObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, info.Metadata.Get("X-Amz-Object-Lock-Mode"))
	}
	return slices.Compact(out)
}

// TestRetainDescription: a retention that no store here enforces, or that nobody could take back, is refused.
func TestRetainDescription(t *testing.T) {
	for name, change := range map[string]func(*Description){
		"no age":         func(d *Description) { d.Retain = "30" },
		"eleven years":   func(d *Description) { d.Retain = "4015d" },
		"no such mode":   func(d *Description) { d.Retain, d.RetainMode = "30d", "strict" },
		"a mode alone":   func(d *Description) { d.RetainMode = "compliance" },
		"of Google":      func(d *Description) { d.URL, d.Retain = "gs://bucket", "30d" },
		"of Azure":       func(d *Description) { d.URL, d.Retain = "azure://account/c", "30d" },
		"of a claim":     func(d *Description) { d.URL, d.Retain = "pvc:backups", "30d" },
		"mode of Google": func(d *Description) { d.URL, d.RetainMode = "gs://bucket", "compliance" },
	} {
		d, _ := described(t)
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		change(&d)
		if err := d.Check(); !errors.Is(err, ErrDescription) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
