package etcd

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
)

// change is one entry of the history in a made-up snapshot.
type change struct {
	main, sub  int64
	key, value string
	lease      int64
	deleted    bool
}

func revisionKey(main, sub int64, deleted bool) []byte {
	k := binary.BigEndian.AppendUint64(nil, uint64(main))
	k = binary.BigEndian.AppendUint64(append(k, '_'), uint64(sub))
	if deleted {
		k = append(k, 't')
	}
	return k
}

// snapshotOf makes the bytes of a snapshot with a history; also, if not nil, may add to the buckets.
func snapshotOf(t testing.TB, history []change, also func(*bolt.Tx) error) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{"key", "meta", "members", "auth"} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		for _, c := range history {
			v, err := proto.Marshal(&mvccpb.KeyValue{Key: []byte(c.key), Value: []byte(c.value), Lease: c.lease})
			if err != nil {
				return err
			}
			if err := tx.Bucket([]byte("key")).Put(revisionKey(c.main, c.sub, c.deleted), v); err != nil {
				return err
			}
		}
		if also == nil {
			return nil
		}
		return also(tx)
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return signed(data)
}

func open(t testing.TB, data []byte) (engine.SnapshotFacts, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return New().OpenSnapshot(path, false)
}

func put(bucket, key string, value []byte) func(*bolt.Tx) error {
	return func(tx *bolt.Tx) error { return tx.Bucket([]byte(bucket)).Put([]byte(key), value) }
}

func TestOpenSnapshot(t *testing.T) {
	t.Parallel()
	kept := func() *datafile.Digest {
		d := datafile.NewDigest()
		d.Add([]byte("a"), []byte("2"))
		d.Add([]byte("b"), nil)
		return d
	}().Fingerprint(9)
	for _, c := range []struct {
		name    string
		history []change
		also    func(*bolt.Tx) error
		want    engine.SnapshotFacts
	}{
		{name: "empty", want: engine.SnapshotFacts{Fingerprint: datafile.NewDigest().Fingerprint(0)}},
		{name: "history", want: engine.SnapshotFacts{Fingerprint: kept}, history: []change{
			{main: 2, key: "b"},
			{main: 3, key: "a", value: "1"},
			{main: 3, sub: 1, key: "c", value: "x"},
			{main: 4, key: "c", deleted: true},
			{main: 5, key: "a", value: "2"},
			{main: 6, key: "leased", value: "x", lease: 7},
			{main: 9, key: "gone", deleted: true},
		}},
		{
			name: "compacted past the last change", history: []change{{main: 2, key: "a", value: "2"}, {main: 3, key: "b"}},
			also: put("meta", "finishedCompactRev", revisionKey(9, 0, false)),
			want: engine.SnapshotFacts{Fingerprint: kept},
		},
		{
			name: "facts", also: func(tx *bolt.Tx) error {
				return errors.Join(
					put("auth", "authEnabled", []byte{1})(tx),
					put("meta", "storageVersion", []byte("3.6.0"))(tx),
					put("members", "2", []byte(`{"name":"db-2"}`))(tx),
					put("members", "3", []byte(`{"name":""}`))(tx),
					put("members", "4", []byte(`{"name":"db-1"}`))(tx))
			},
			want: engine.SnapshotFacts{
				Fingerprint: datafile.NewDigest().Fingerprint(0), Auth: true, Schema: "3.6.0",
				Members: []string{"db-1", "db-2"},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := open(t, snapshotOf(t, c.history, c.also))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenSnapshotRefuses(t *testing.T) {
	t.Parallel()
	good := snapshotOf(t, []change{{main: 2, key: "a", value: "1"}}, nil)
	resigned := func(damage func([]byte)) []byte {
		data := bytes.Clone(good[:len(good)-sha256.Size])
		damage(data)
		return signed(data)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 4
	for name, data := range map[string][]byte{
		"nothing":             {},
		"truncated":           good[:len(good)/2],
		"truncated by a page": good[:len(good)-4096],
		"flipped":             flipped,
		"no database":         signed(bytes.Repeat([]byte{7}, 8192)),
		"both meta pages":     resigned(func(b []byte) { clear(b[:8192]) }),
		"pages cleared":       resigned(func(b []byte) { clear(b[8192:]) }),
		"cut and signed":      signed(good[:8192]),
		"no revision":         snapshotOf(t, nil, put("key", "x", nil)),
		"revision too high":   snapshotOf(t, []change{{main: -1}}, nil),
		"no key and value":    snapshotOf(t, nil, put("key", string(revisionKey(2, 0, false)), []byte{0xff})),
		"no member":           snapshotOf(t, nil, put("members", "2", []byte("{"))),
		"no buckets":          snapshotOf(t, nil, func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("key")) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if facts, err := open(t, data); !errors.Is(err, engine.ErrNotSnapshot) {
				t.Errorf("got %+v, %v", facts, err)
			}
		})
	}
	if _, err := New().OpenSnapshot(filepath.Join(t.TempDir(), "none"), false); !errors.Is(err, os.ErrNotExist) ||
		errors.Is(err, engine.ErrNotSnapshot) {
		t.Errorf("file that does not exist: %v", err)
	}
}

// FuzzOpenSnapshot damages a snapshot anywhere; the checksum must tell.
func FuzzOpenSnapshot(f *testing.F) {
	good := snapshotOf(f, []change{{main: 2, key: "a", value: "1"}}, nil)
	f.Add(0, byte(1), len(good))
	f.Add(len(good)-1, byte(255), len(good))
	f.Add(0, byte(0), len(good)-4096)
	f.Fuzz(func(t *testing.T, at int, flip byte, size int) {
		if at < 0 || at >= len(good) || size < 0 || size > len(good) {
			return
		}
		data := bytes.Clone(good)
		data[at] ^= flip
		data = data[:size]
		_, err := open(t, data)
		if same := bytes.Equal(data, good); same != (err == nil) || (err != nil && !errors.Is(err, engine.ErrNotSnapshot)) {
			t.Errorf("same: %v, error: %v", same, err)
		}
	})
}

// FuzzSignedSnapshot damages what is inside and signs it again: whatever it
// answers, it must not crash.
func FuzzSignedSnapshot(f *testing.F) {
	good := snapshotOf(f, []change{{main: 2, key: "a", value: "1"}, {main: 3, key: "b", value: "2"}}, nil)
	good = good[:len(good)-sha256.Size]
	f.Add(uint(8192), byte(1))
	f.Fuzz(func(t *testing.T, at uint, flip byte) {
		data := bytes.Clone(good)
		data[at%uint(len(data))] ^= flip
		if _, err := open(t, signed(data)); err != nil && !errors.Is(err, engine.ErrNotSnapshot) {
			t.Errorf("error: %v", err)
		}
	})
}
