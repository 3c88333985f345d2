package etcd

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Lengths of the keys in bucket "key": main revision, '_', sub revision, and
// for a deletion a mark (server/storage/mvcc/revision.go).
const (
	revisionLength  = 8 + 1 + 8
	tombstoneLength = revisionLength + 1
	tombstoneMark   = 't'
)

// readFacts reads what etcd keeps in its buckets (server/storage/schema).
func readFacts(tx *bolt.Tx) (engine.SnapshotFacts, error) {
	keys := tx.Bucket([]byte("key"))
	meta := tx.Bucket([]byte("meta"))
	if keys == nil || meta == nil {
		return engine.SnapshotFacts{}, fmt.Errorf("the database has no buckets of etcd: %w", engine.ErrNotSnapshot)
	}
	found, err := readKeys(keys, meta)
	if err != nil {
		return engine.SnapshotFacts{}, err
	}
	members, err := readMembers(tx.Bucket([]byte("members")))
	if err != nil {
		return engine.SnapshotFacts{}, err
	}
	facts := engine.SnapshotFacts{
		Fingerprint: found,
		// Written from 3.6 on.
		Schema:  string(meta.Get([]byte("storageVersion"))),
		Members: members,
	}
	if auth := tx.Bucket([]byte("auth")); auth != nil {
		enabled := auth.Get([]byte("authEnabled"))
		facts.Auth = len(enabled) == 1 && enabled[0] == 1
	}
	return facts, nil
}

// readKeys walks the history once, from its end: the first change of a key
// that it meets is the key's last. Of the keys that it met it remembers 128
// random bits each, so that a history of millions fits into little memory.
func readKeys(keys, meta *bolt.Bucket) (engine.Fingerprint, error) {
	var latest int64
	met, sum := newKeySet(), newDigest()
	history := keys.Cursor()
	for k, v := history.Last(); k != nil; k, v = history.Prev() {
		main, deleted, err := parseRevision(k)
		if err != nil {
			return engine.Fingerprint{}, err
		}
		latest = max(latest, main)
		p, err := parsePair(v)
		if err != nil {
			return engine.Fingerprint{}, fmt.Errorf("decode the key at revision %d: %w", main, err)
		}
		// A change without a key is the mark that a restore with a raised revision leaves.
		if len(p.key) > 0 && met.add(p.key) && !deleted && p.lease == 0 {
			sum.add(p.key, p.value)
		}
	}
	// A compaction removes deletions, perhaps the last change: the server then
	// continues from the compacted revision (mvcc.store.restore).
	for _, name := range []string{"finishedCompactRev", "scheduledCompactRev"} {
		if main, _, err := parseRevision(meta.Get([]byte(name))); err == nil {
			latest = max(latest, main)
		}
	}
	return sum.fingerprint(latest), nil
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

// readMembers reads the names of the members; one that had not started has none.
func readMembers(members *bolt.Bucket) ([]string, error) {
	if members == nil {
		return nil, nil
	}
	var names []string
	err := members.ForEach(func(_, v []byte) error {
		var m struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(v, &m); err != nil {
			return fmt.Errorf("decode a member: %w: %w", engine.ErrNotSnapshot, err)
		}
		if m.Name != "" {
			names = append(names, m.Name)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}
