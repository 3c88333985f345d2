package datafile

import (
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// FuzzParsePair holds the parser against the generated one: what that takes
// it reads alike, what that refuses it refuses or reads something of.
func FuzzParsePair(f *testing.F) {
	for _, kv := range []*mvccpb.KeyValue{{}, {Key: []byte("a")},
		{Key: []byte("a"), Value: []byte("1"), Lease: -7, Version: 3, CreateRevision: 1, ModRevision: 1 << 40}} {
		b, err := proto.Marshal(kv)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0x0a, 0xff})
	f.Add([]byte{0x08, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parsePair(b)
		if err != nil {
			if !errors.Is(err, engine.ErrNotSnapshot) {
				t.Errorf("error %v", err)
			}
			return
		}
		var want mvccpb.KeyValue
		if proto.Unmarshal(b, &want) != nil {
			return
		}
		if string(got.key) != string(want.Key) || string(got.value) != string(want.Value) ||
			int64(got.lease) != want.Lease {
			t.Errorf("got %q %q %d, want %v", got.key, got.value, got.lease, &want)
		}
	})
}
