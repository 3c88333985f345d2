package etcd

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

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

// readKeys walks the history once, remembering for each key only where its
// last value is, and then reads the values in the order of the keys.
func readKeys(keys, meta *bolt.Bucket) (engine.Fingerprint, error) {
	var latest int64
	live := map[string][revisionLength]byte{}
	err := keys.ForEach(func(k, v []byte) error {
		main, deleted, err := parseRevision(k)
		if err != nil {
			return err
		}
		latest = max(latest, main)
		var pair mvccpb.KeyValue
		if err := proto.Unmarshal(v, &pair); err != nil {
			return fmt.Errorf("decode the key at revision %d: %w: %w", main, engine.ErrNotSnapshot, err)
		}
		switch {
		case len(pair.Key) == 0:
			// The mark that a restore with a raised revision leaves.
		case deleted || pair.Lease != 0:
			delete(live, string(pair.Key))
		default:
			live[string(pair.Key)] = [revisionLength]byte(k)
		}
		return nil
	})
	if err != nil {
		return engine.Fingerprint{}, err
	}
	// A compaction removes deletions, perhaps the last change: the server then
	// continues from the compacted revision (mvcc.store.restore).
	for _, name := range []string{"finishedCompactRev", "scheduledCompactRev"} {
		if main, _, err := parseRevision(meta.Get([]byte(name))); err == nil {
			latest = max(latest, main)
		}
	}
	sum := newDigest()
	for _, key := range slices.Sorted(maps.Keys(live)) {
		at := live[key]
		var pair mvccpb.KeyValue
		if err := proto.Unmarshal(keys.Get(at[:]), &pair); err != nil {
			return engine.Fingerprint{}, fmt.Errorf("decode a value: %w: %w", engine.ErrNotSnapshot, err)
		}
		sum.add(pair.Key, pair.Value)
	}
	return sum.fingerprint(latest), nil
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
