package group

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// stall is how long an operation of the disk may take before the agent leaves the network of the group. A leader whose
// log hangs would keep leading otherwise: its heartbeats don't pass through the log.
const stall = 3 * time.Second

// fullRetry is the interval at which a write to a full disk is tried again.
const fullRetry = 200 * time.Millisecond

// cached is how many entries of the log are kept in memory.
const cached = 8

// durable is what a store of the group offers: its log, and the term and vote of this voter.
type durable interface {
	raft.LogStore
	raft.StableStore
}

// store wraps the store of the group. It knows since when an operation runs. On a full disk it frees the ballast and
// tries again until there is room: raft would panic if a term could not be stored.
type store struct {
	durable
	// free makes room, once.
	free func()

	mu   sync.Mutex
	busy map[int]time.Time
	next int
	last position
}

// position is the end of a log.
type position struct {
	Term  uint64 `json:"term"`
	Index uint64 `json:"index"`
}

// before orders positions as votes do: the term counts first.
func (p position) before(q position) bool {
	return p.Term < q.Term || p.Term == q.Term && p.Index < q.Index
}

// newStore wraps a store whose log ends after a snapshot if it is empty.
func newStore(inner durable, snapshot position, free func()) (*store, error) {
	s := &store{durable: inner, free: free, busy: map[int]time.Time{}, last: snapshot}
	return s, s.readLast()
}

func (s *store) readLast() error {
	index, err := s.LastIndex()
	if err != nil || index == 0 {
		return err
	}
	var l raft.Log
	if err := s.GetLog(index, &l); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = position{Term: l.Term, Index: l.Index}
	return nil
}

// end is the end of the log that is on disk.
func (s *store) end() position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// stalled says whether an operation has been running for too long.
func (s *store) stalled(now time.Time) bool { return s.hangs(now, stall) }

// hangs says whether an operation has been running for a time.
func (s *store) hangs(now time.Time, since time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, began := range s.busy {
		if now.Sub(began) >= since {
			return true
		}
	}
	return false
}

// run does an operation, again while the disk is full.
func (s *store) run(do func() error) error {
	s.mu.Lock()
	s.next++
	number := s.next
	s.busy[number] = time.Now()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, number)
	}()
	for {
		err := do()
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
			return err
		}
		s.free()
		time.Sleep(fullRetry)
	}
}

// IsMonotonic says that the log has no gaps, so that raft truncates it after a snapshot from a leader.
func (s *store) IsMonotonic() bool {
	m, ok := s.durable.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// StoreLog appends an entry.
func (s *store) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs appends entries.
func (s *store) StoreLogs(logs []*raft.Log) error {
	if err := s.run(func() error { return s.durable.StoreLogs(logs) }); err != nil || len(logs) == 0 {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = position{Term: logs[len(logs)-1].Term, Index: logs[len(logs)-1].Index}
	return nil
}

// DeleteRange removes entries that a leader replaces, or that a snapshot holds.
func (s *store) DeleteRange(first, last uint64) error {
	if err := s.run(func() error { return s.durable.DeleteRange(first, last) }); err != nil {
		return err
	}
	return s.readLast()
}

// Set stores a value.
func (s *store) Set(key, value []byte) error {
	return s.run(func() error { return s.durable.Set(key, value) })
}

// SetUint64 stores a number: the term, for example.
func (s *store) SetUint64(key []byte, value uint64) error {
	return s.run(func() error { return s.durable.SetUint64(key, value) })
}

// ballast is a file that takes room on the volume until the group needs it.
type ballast struct {
	path string
	size int64
}

// fill makes the ballast if there is room for it; free takes it away. What does not fit is given back at once.
func (b ballast) fill() error {
	if info, err := os.Stat(b.path); err == nil && info.Size() == b.size {
		return nil
	}
	f, err := os.Create(b.path)
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<16)
	for left := b.size; left > 0 && err == nil; left -= int64(len(zeros)) {
		_, err = f.Write(zeros[:min(left, int64(len(zeros)))])
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		b.free()
	}
	return err
}

func (b ballast) free() { _ = os.Remove(b.path) } // nothing is left to free the second time
