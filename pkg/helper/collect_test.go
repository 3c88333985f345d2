package helper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// members keep files of a log until they are told to let them go.
type members struct {
	mu   sync.Mutex
	kept map[string]string
	// log is asked whenever a file is let go: it must be there.
	log    *archive.Log
	reads  int
	failed error
	// some answer although others fail.
	some bool
	// replica: the primary has let them go.
	replica bool
	lost    []string
}

func (m *members) WaitingLog(context.Context) ([]engine.WaitingLog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []engine.WaitingLog
	if m.some {
		out = []engine.WaitingLog{}
	}
	for name := range m.kept {
		out = append(out, engine.WaitingLog{Name: name, Members: []string{"db-1"}, Primary: !m.replica})
	}
	slices.SortFunc(out, func(a, b engine.WaitingLog) int { return strings.Compare(a.Name, b.Name) })
	return out, m.failed
}

func (m *members) ReadLog(_ context.Context, w engine.WaitingLog) (engine.LogFile, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	return engine.LogFile{Timeline: "1", Name: w.Name, Start: "0/1", End: "0/2"}, []byte(m.kept[w.Name]), nil
}

func (m *members) ConfirmLog(ctx context.Context, w engine.WaitingLog, sum string) error {
	if _, err := m.log.Find(ctx, "1", w.Name); err != nil {
		m.lost = append(m.lost, w.Name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !strings.HasPrefix(sumOf([]byte(m.kept[w.Name])), sum) {
		return errors.New("it has other bytes here than in the archive")
	}
	delete(m.kept, w.Name)
	return nil
}

// signing are new keys, without encryption.
func signing(t *testing.T) archive.Keys {
	t.Helper()
	signer, public, err := archive.NewSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := archive.ParseKeys(nil, nil, signer, []string{public})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestCollectorConfirmsWhatIsDurable, and nothing before, whatever the store does; a second collector reads nothing
// again that is archived.
func TestCollectorConfirmsWhatIsDurable(t *testing.T) {
	t.Parallel()
	keys := signing(t)
	dir, err := store.NewDirectory(t.TempDir() + "/store")
	if err != nil {
		t.Fatal(err)
	}
	open := func(s store.Store) *archive.Log {
		return archive.Open(s, keys).Log(archive.Scope{Namespace: "ns", Cluster: "db"}, "token")
	}
	m := &members{kept: map[string]string{"one": "1", "two": "2", "three": "3"}, log: open(dir)}
	for attempt := 1; len(m.kept) > 0; attempt++ {
		f := &storetest.Fault{Store: dir, Before: storetest.FailAt(attempt)}
		c := Collector{Source: m, Log: open(f)}
		_, _ = c.Round(t.Context())
		if attempt > 100 {
			t.Fatal("it never ends")
		}
	}
	if len(m.lost) > 0 {
		t.Errorf("let go before they were archived: %v", m.lost)
	}
	m.kept, m.reads = map[string]string{"one": "1"}, 0
	if _, err := (&Collector{Source: m, Log: open(dir)}).Round(t.Context()); err != nil || m.reads > 0 || len(m.kept) > 0 {
		t.Errorf("what is archived: read %d times, kept %v, %v", m.reads, m.kept, err)
	}
}

// TestCollectorEndsAtAnotherHistory: where the archive has other bytes by the name of a file, that file is kept, and
// nothing that follows it is archived.
func TestCollectorEndsAtAnotherHistory(t *testing.T) {
	t.Parallel()
	keys := signing(t)
	for name, known := range map[string]bool{"known": true, "found by the append": false} {
		dir, err := store.NewDirectory(t.TempDir() + "/store")
		if err != nil {
			t.Fatal(err)
		}
		log := archive.Open(dir, keys).Log(archive.Scope{Namespace: "ns", Cluster: "db"}, "token")
		m := &members{kept: map[string]string{"2": "two"}, log: log}
		for i := range 20 {
			m.kept[fmt.Sprint("3", string(rune('a'+i)))] = "later"
		}
		c := Collector{Source: m, Log: log, Every: time.Second, Report: func(err error) { t.Error(err) }}
		if !known {
			c.sums = map[string]string{}
		}
		other := archive.Segment{Timeline: "1", Name: "2", Start: "0/1", End: "0/2", Time: time.Now()}
		if err := log.Append(t.Context(), other, []byte("of another server")); err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context()); !errors.Is(err, archive.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
		if _, kept := m.kept["2"]; !kept {
			t.Errorf("%s: it let go what is not archived", name)
		}
		if all, err := log.Segments(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("%s: the archive has %d files, %v", name, len(all), err)
		}
	}
}

// TestCollectorLeavesAReplica whose file has other bytes than what the primary had archived: the rest is archived.
func TestCollectorLeavesAReplica(t *testing.T) {
	t.Parallel()
	keys := signing(t)
	dir, err := store.NewDirectory(t.TempDir() + "/store")
	if err != nil {
		t.Fatal(err)
	}
	log := archive.Open(dir, keys).Log(archive.Scope{Namespace: "ns", Cluster: "db"}, "token")
	m := &members{kept: map[string]string{"2": "damaged", "3": "later"}, log: log, replica: true}
	first := archive.Segment{Timeline: "1", Name: "2", Start: "0/1", End: "0/2", Time: time.Now()}
	if err := log.Append(t.Context(), first, []byte("two")); err != nil {
		t.Fatal(err)
	}
	progress, err := (&Collector{Source: m, Log: log}).Round(t.Context())
	if !progress || err == nil || errors.Is(err, archive.ErrConflict) {
		t.Errorf("progress %t, %v", progress, err)
	}
	if _, kept := m.kept["2"]; !kept || len(m.kept) != 1 {
		t.Errorf("the replica keeps %v", m.kept)
	}
}

// TestCollectorGivesUp where nothing succeeds for long, so that keys are read again, and not before.
func TestCollectorGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, err := store.NewDirectory(t.TempDir() + "/store")
		if err != nil {
			t.Fatal(err)
		}
		reported, failure := 0, errors.New("nobody answers")
		c := Collector{Source: &members{failed: failure}, Log: archive.Open(dir, archive.Keys{}).Log(archive.Scope{}, "t"),
			Every: time.Second, Report: func(error) { reported++ }}
		if err := c.Run(t.Context()); !errors.Is(err, failure) || reported != int(collectPatience/time.Second) {
			t.Errorf("%v after %d reports", err, reported)
		}
	})
}

// TestCollectorGoesOn where one member of several is away for long: what the others keep is archived.
func TestCollectorGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, err := store.NewDirectory(t.TempDir() + "/store")
		if err != nil {
			t.Fatal(err)
		}
		reported := 0
		ctx, stop := context.WithTimeout(t.Context(), 10*collectPatience)
		defer stop()
		c := Collector{Source: &members{failed: errors.New("db-2 does not answer"), some: true},
			Log:   archive.Open(dir, archive.Keys{}).Log(archive.Scope{}, "t"),
			Every: time.Second, Report: func(error) { reported++ }}
		if err := c.Run(ctx); err != nil || reported < 9*int(collectPatience/time.Second) {
			t.Errorf("%v after %d reports", err, reported)
		}
	})
}
