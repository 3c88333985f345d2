package etcd

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
)

// CompareProofs implements engine.Rules. Equal proofs hold the same keys with
// the same values.
func (*Engine) CompareProofs(want, got engine.Proof) engine.Match {
	whole := func(p engine.Proof) bool {
		_, sum, ok := strings.Cut(string(p), datafile.ProofSeparator)
		return ok && len(sum) == hex.EncodedLen(sha256.Size)
	}
	switch {
	case !whole(want) || !whole(got):
		return engine.MatchUnknown
	case want == got:
		return engine.MatchSame
	}
	return engine.MatchDifferent
}
