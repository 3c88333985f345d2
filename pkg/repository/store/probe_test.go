package store_test

import (
	"errors"
	"testing"

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
