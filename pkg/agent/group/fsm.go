package group

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// machine applies agreed entries to its own document, for snapshots, and hands them to the protocol in order.
type machine struct {
	deliver func(protocol.Event)
	// hurry is called when the members should learn at once that an entry was agreed on.
	hurry func()
	// changed has a value when the document is another one than before, but for renewals.
	changed chan struct{}

	mu       sync.Mutex
	document protocol.Document
	halted   error
	// renewed is when the last renewal was applied.
	renewed time.Time
}

var errHalted = errors.New("this member stopped applying entries and takes no snapshot")

// Apply takes an entry. After one that it can't apply, it applies nothing more.
func (m *machine) Apply(l *raft.Log) any {
	e, err := protocol.Decode(l.Data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.halted != nil {
		return m.halted
	}
	if err != nil {
		m.halted = err
		m.deliver(protocol.Halted{Why: err.Error()})
		return err
	}
	return m.apply(l.Index, e)
}

func (m *machine) apply(index uint64, e protocol.Entry) error {
	_, renewal := e.(*protocol.Renew)
	urgent := !renewal || m.document.Phase == protocol.Appointed
	if renewal { // after a change of the leader the next one may come too late to tell of this one
		t, now := m.document.Settings.Timing, time.Now()
		urgent = urgent || now.Sub(m.renewed) > t.Renewal+t.Agreement
		m.renewed = now
	}
	if urgent && m.hurry != nil {
		m.hurry()
	}
	err := m.document.Apply(index, e)
	m.deliver(protocol.Applied{Index: index, Entry: e})
	if !renewal {
		m.tell()
	}
	return err
}

func (m *machine) tell() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// removed reports whether a member was removed: its ID never comes back.
func (m *machine) removed(id protocol.MemberID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.document.Removed, id)
}

// StoreConfiguration takes who votes.
func (m *machine) StoreConfiguration(index uint64, c raft.Configuration) {
	var e protocol.Configured
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			e.Voters = append(e.Voters, protocol.MemberID(s.ID))
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.halted == nil {
		_ = m.apply(index, &e) // it is refused if the voters are the same
	}
}

// Snapshot returns the document as it is.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.halted != nil {
		return nil, errHalted
	}
	raw, err := m.document.MarshalSnapshot()
	return snapshot(raw), err
}

// Restore replaces the document.
func (m *machine) Restore(r io.ReadCloser) error {
	defer r.Close() //nolint:errcheck // it was read
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var d, copied protocol.Document
	if err := errors.Join(d.UnmarshalSnapshot(raw), copied.UnmarshalSnapshot(raw)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.document = d
	m.deliver(protocol.Restored{Document: copied})
	m.tell()
	return nil
}

type snapshot []byte

// Persist writes the document.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := io.Copy(sink, bytes.NewReader(s)); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release has nothing to do.
func (snapshot) Release() {}
