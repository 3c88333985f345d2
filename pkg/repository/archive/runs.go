package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Two runs of one operation can meet in one attempt: the first one's node is out of reach, and a second one goes on in
// its place. A mark is put once, so of each volume only one run can say that it is stored. Whether the volume is the
// one of the mark is asked again before the manifest is written, and before anybody goes on behind it.

// headBytes are enough to hold what age draws for one object alone.
const headBytes = 256

// errOther: another run of the operation put its own volume in the place of one.
var errOther = errors.New("another run of the same operation replaced it")

func headSum(head []byte) string {
	sum := sha256.Sum256(head)
	return hex.EncodeToString(sum[:])
}

// own holds that every marked volume is the one of its mark: errOther if not. It takes one small request for each.
func (w *Writer) own(ctx context.Context) error {
	for stream, list := range w.marks {
		for n, m := range list {
			key := w.manifest().volumeKey(stream, n)
			if m.Head == "" {
				continue // of a version that did not say it
			}
			head := make([]byte, min(headBytes, m.Volume.Bytes))
			if err := fetch(ctx, w.archive.store, key, 0, head); err != nil {
				return err
			}
			if headSum(head) != m.Head {
				return fmt.Errorf("%s: %w; repeat the command when no other run is left", key, errOther)
			}
		}
	}
	return nil
}

// dropVolume deletes a volume that no mark speaks of. One whose mark appeared meanwhile shows that another run is
// alive.
func (w *Writer) dropVolume(ctx context.Context, key string) error {
	// Who was stopped between the two requests deletes nothing.
	ctx, cancel := context.WithTimeout(ctx, abortWithin)
	defer cancel()
	name := strings.TrimSuffix(strings.TrimSuffix(key[strings.LastIndexByte(key, '/')+1:], ".age"), ".zst")
	_, err := w.archive.store.Head(ctx, w.request.prefix(kindAttempt)+w.attempt+"/"+name+".json")
	if err == nil {
		return fmt.Errorf("%w: another run of operation %s writes it now", ErrExists, w.request.Operation)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return w.archive.store.Delete(ctx, key)
}

// mark says durably that a volume is stored.
func (w *Writer) mark(ctx context.Context, m mark) error {
	if err := w.archive.putSigned(ctx, markKey(w.request.Scope, w.attempt, m.Stream, m.Number), m,
		store.Options{}); err != nil {
		return err
	}
	w.marks[m.Stream] = append(slices.Clip(w.marks[m.Stream]), m)
	return nil
}
