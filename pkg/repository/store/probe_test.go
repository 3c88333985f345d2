package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// failed are the facts that are not so.
func failed(facts []store.Fact) map[string]bool {
	out := map[string]bool{}
	for _, f := range facts {
		if !f.OK {
			out[f.What] = true
		}
	}
	return out
}

func TestProbeDirectory(t *testing.T) {
	s := open(t)
	facts, err := store.Probe(t.Context(), s, false)
	if err != nil || len(failed(facts)) != 3 {
		t.Errorf("%+v, %v", facts, err)
	}
	if left := storetest.Keys(t, s, ""); len(left) != 0 {
		t.Errorf("it left %q", left)
	}
	if _, err := store.Probe(t.Context(), s, true); !errors.Is(err, store.ErrLies) {
		t.Errorf("retention: %v", err)
	}
}

func TestProbeS3(t *testing.T) {
	server := storetest.StartS3(t)
	s, err := s3.Open(server.Config(t, true))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := store.Probe(t.Context(), s, true)
	if err != nil || len(failed(facts)) != 0 {
		t.Errorf("%+v, %v", facts, err)
	}
}

// TestProbeFindsALiar asks a server that accepts the condition of a put, and ignores it.
func TestProbeFindsALiar(t *testing.T) {
	s, err := s3.Open(storetest.StartLiar(t))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := store.Probe(t.Context(), s, false)
	if !errors.Is(err, store.ErrLies) || !failed(facts)["never replaces an object by a put"] {
		t.Errorf("%+v, %v", facts, err)
	}
}

// TestProbeRetaining: a bucket that retains each new object is fine, and the probe says what stays there.
func TestProbeRetaining(t *testing.T) {
	s, err := s3.Open(storetest.StartS3(t).Retaining(t))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := store.Probe(t.Context(), s, true)
	if err != nil || len(failed(facts)) != 0 {
		t.Fatalf("%+v, %v", facts, err)
	}
	said := map[string]string{}
	for _, f := range facts {
		said[f.What] = f.Detail
	}
	tomorrow := time.Now().Add(24 * time.Hour).UTC().Format("2006-01-02T")
	for _, want := range []string{"governance for 1 days, until " + tomorrow, "under probe/, stay until"} {
		if got := said["retains each new object"]; !strings.Contains(got, want) {
			t.Errorf("it says %q, and not %q", got, want)
		}
	}
	if _, ok := said["lets these credentials delete"]; !ok {
		t.Errorf("it says nothing of deletions: %+v", facts)
	}
}

// forgets is a store that says nothing of retention, and keeps every object.
type forgets struct{ store.Store }

func (f forgets) Delete(_ context.Context, key string) error {
	return fmt.Errorf("delete %s: %w", key, store.ErrRetained)
}

// TestProbeKeepsAll: where no shorter retention can be asked for, nobody says that nothing can be deleted.
func TestProbeKeepsAll(t *testing.T) {
	facts, err := store.Probe(t.Context(), forgets{open(t)}, false)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(facts, func(f store.Fact) bool { return f.What == "lets these credentials delete" })
	if i < 0 || facts[i].OK || !strings.Contains(facts[i].Detail, "not tried") {
		t.Errorf("%+v", facts)
	}
}
