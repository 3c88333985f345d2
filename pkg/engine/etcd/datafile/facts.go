// Package datafile reads what a member of etcd leaves on disk, a snapshot or a data
// directory, without a server.
package datafile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/boltfile"
)

// Lengths of the keys in bucket "key": main revision, '_', sub revision, and
// for a deletion a mark (server/storage/mvcc/revision.go).
const (
	revisionLength  = 8 + 1 + 8
	tombstoneLength = revisionLength + 1
	tombstoneMark   = 't'
)

// Contents is what etcd keeps in its buckets (server/storage/schema), as the
// walk through a file meets it: from its end, so that "meta" comes before "key".
type Contents struct {
	buckets map[string]bool
	// met and Sum are of the key space, compacted is how far its history is
	// dropped, or about to be, Latest its last change or that.
	met               *keySet
	Sum               *Digest
	Compacted, Latest int64
	// History, if set, hashes it.
	History *HistoryHash
	// Raise is by how much a restore will raise the revision; 0 if it will not. Latest, Compacted and History are then
	// what they will be. Set it before Read.
	Raise int64
	// marked is set once the mark of that is in History.
	marked bool
	// Applied is the last entry of the log that is in the file.
	Applied uint64
	Facts   engine.SnapshotFacts
}

// NewContents is empty; Read fills it once.
func NewContents() *Contents {
	return &Contents{buckets: map[string]bool{}, met: newKeySet(), Sum: NewDigest()}
}

// Read walks through a database once and checks all of it.
func (c *Contents) Read(path string) (err error) {
	file, err := boltfile.Open(path)
	if err != nil {
		return notSnapshot(err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Walk(c.enter); err != nil {
		return notSnapshot(err)
	}
	if !c.buckets["key"] || !c.buckets["meta"] {
		return fmt.Errorf("the database has no buckets of etcd: %w", engine.ErrNotSnapshot)
	}
	if !c.marked {
		c.mark(0)
	}
	slices.Sort(c.Facts.Members)
	c.Facts.Fingerprint = c.Sum.Fingerprint(c.Latest)
	return nil
}

func notSnapshot(err error) error {
	if errors.Is(err, boltfile.ErrDamaged) {
		return fmt.Errorf("%w: %w", engine.ErrNotSnapshot, err)
	}
	return err
}

// enter implements boltfile.Visitor.
func (c *Contents) enter(bucket string) func(key, value []byte) error {
	c.buckets[bucket] = true
	switch bucket {
	case "key":
		return c.change
	case "meta":
		return c.meta
	case "members":
		return c.member
	case "auth":
		return c.auth
	}
	return nil
}

// change hears the history from its end: the first change of a key that it
// meets is the key's last. Of the keys that it met it remembers 128 random
// bits each, so that a history of millions fits into little memory.
func (c *Contents) change(key, value []byte) error {
	main, deleted, err := parseRevision(key)
	if err != nil {
		return err
	}
	if !c.marked {
		c.mark(main)
	}
	c.Latest = max(c.Latest, main)
	p, err := parsePair(value)
	if err != nil {
		return fmt.Errorf("decode the key at revision %d: %w", main, err)
	}
	lives := c.met.add(p.key) && !deleted
	// A change without a key is the mark that a restore with a raised revision leaves.
	if lives && len(p.key) > 0 && p.lease == 0 {
		c.Sum.Add(p.key, p.value)
	}
	if c.History != nil {
		c.History.change(key, value, main > c.Compacted, lives)
	}
	return nil
}

// mark is called with the last revision that changed a key. A restore that raises the revision writes a change without
// a key, and has all compacted before it (modifyLatestRevision in etcdutl/snapshot/v3_snapshot.go).
func (c *Contents) mark(latest int64) {
	c.marked = true
	if c.Raise == 0 {
		return
	}
	c.Latest = latest + c.Raise
	c.Compacted = c.Latest
	c.met.add(nil)
	if c.History != nil {
		// A file with a revision so high that this overflows only fits no member.
		key := append(binary.BigEndian.AppendUint64(nil, uint64(c.Latest)), '_') // #nosec G115 -- as above
		c.History.change(append(key, make([]byte, 8)...), nil, false, true)
	}
}

func (c *Contents) meta(key, value []byte) error {
	switch string(key) {
	case "finishedCompactRev", "scheduledCompactRev":
		// A compaction removes deletions, perhaps the last change: the server then
		// continues from the compacted revision (mvcc.store.restore).
		if main, _, err := parseRevision(value); err == nil {
			c.Compacted = max(c.Compacted, main)
			c.Latest = max(c.Latest, main)
		}
	case "storageVersion":
		// Written from 3.6 on.
		c.Facts.Schema = string(value)
	case "consistent_index":
		if len(value) == 8 {
			c.Applied = binary.BigEndian.Uint64(value)
		}
	}
	return nil
}

// member reads a member's name; one that had not started has none.
func (c *Contents) member(_, value []byte) error {
	var m struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(value, &m); err != nil {
		return fmt.Errorf("decode a member: %w: %w", engine.ErrNotSnapshot, err)
	}
	if m.Name != "" {
		c.Facts.Members = append(c.Facts.Members, m.Name)
	}
	return nil
}

func (c *Contents) auth(key, value []byte) error {
	if string(key) == "authEnabled" {
		c.Facts.Auth = len(value) == 1 && value[0] == 1
	}
	return nil
}

// keySet remembers which keys were met, by two hashes with random seeds: that
// two of a billion keys share both is a chance of one to 10^20.
type keySet struct {
	seeds [2]maphash.Seed
	met   map[[2]uint64]struct{}
}

func newKeySet() *keySet {
	return &keySet{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, met: map[[2]uint64]struct{}{}}
}

// add reports whether the key is new.
func (s *keySet) add(key []byte) bool {
	id := [2]uint64{maphash.Bytes(s.seeds[0], key), maphash.Bytes(s.seeds[1], key)}
	if _, ok := s.met[id]; ok {
		return false
	}
	s.met[id] = struct{}{}
	return true
}

func parseRevision(k []byte) (main int64, deleted bool, err error) {
	deleted = len(k) == tombstoneLength && k[revisionLength] == tombstoneMark
	if (len(k) != revisionLength && !deleted) || k[8] != '_' {
		return 0, false, fmt.Errorf("key %x is no revision: %w", k, engine.ErrNotSnapshot)
	}
	unsigned := binary.BigEndian.Uint64(k)
	if unsigned > math.MaxInt64 {
		return 0, false, fmt.Errorf("revision %d is too high: %w", unsigned, engine.ErrNotSnapshot)
	}
	return int64(unsigned), deleted, nil
}
