package archive

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestSum: where an object of one part is damaged, its sum says so, and not the decoder that the damage confuses.
func TestSum(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	mustSave(t, a, "b", pages(3<<20))
	key := storetest.Keys(t, s, kindData+"/")[0]
	body := []byte(storetest.Content(t, s, key))
	for _, at := range []int{0, len(body) / 2, len(body) - 1} {
		flipped := bytes.Clone(body)
		flipped[at] ^= 1
		replace(t, s, key, flipped)
		if _, err := load(t, a, "b"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "SHA-256") {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// TestParts reads a volume of more parts than there are buffers, and one byte.
func TestParts(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(directory(t), keys)
	content := storetest.Noise((fetches+3)*store.PartSize + 1)
	w, _, err := a.Begin(t.Context(), request("b", "op", ""))
	if err == nil {
		err = w.Stream(t.Context(), "snapshot.db", bytes.NewReader(content))
	}
	if err == nil {
		_, err = w.Commit(t.Context(), Manifest{Engine: "etcd", Version: "3.6.1"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := load(t, a, "b"); err != nil || !bytes.Equal(got, content) {
		t.Errorf("read %d bytes: %v", len(got), err)
	}
}
