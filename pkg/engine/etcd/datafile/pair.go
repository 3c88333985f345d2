package datafile

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Field numbers of mvccpb.KeyValue, as stored (api/mvccpb/kv.proto).
const (
	pairKey   protowire.Number = 1
	pairValue protowire.Number = 5
	pairLease protowire.Number = 6
)

// pair is one stored change of a key. Key and value lie in what was parsed:
// nothing is copied, for a file may hold gigabytes of them.
type pair struct {
	key, value []byte
	lease      uint64
}

// parsePair reads the protocol buffer of a change.
func parsePair(b []byte) (pair, error) {
	var p pair
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return p, fmt.Errorf("%w: %w", engine.ErrNotSnapshot, protowire.ParseError(n))
		}
		b = b[n:]
		switch {
		case number == pairKey && kind == protowire.BytesType:
			p.key, n = protowire.ConsumeBytes(b)
		case number == pairValue && kind == protowire.BytesType:
			p.value, n = protowire.ConsumeBytes(b)
		case number == pairLease && kind == protowire.VarintType:
			p.lease, n = protowire.ConsumeVarint(b)
		case number == pairKey, number == pairValue, number == pairLease:
			return p, fmt.Errorf("%w: field %d has wire type %d", engine.ErrNotSnapshot, number, kind)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return p, fmt.Errorf("%w: %w", engine.ErrNotSnapshot, protowire.ParseError(n))
		}
		b = b[n:]
	}
	return p, nil
}
