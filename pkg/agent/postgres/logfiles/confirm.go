//go:build linux

package logfiles

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// Confirm lets a file go that the archive has, if its SHA-256 begins with a sum of at least 32 characters. A repeat
// changes nothing.
func (f *Files) Confirm(name, sum string) error {
	ready, err := f.Waiting()
	if _, waits := slices.BinarySearch(ready, name); err != nil || !waits {
		return err // the server has let it go before
	}
	body, err := f.readWaiting(name)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(body)
	if own := hex.EncodeToString(digest[:]); len(sum) < 32 || !strings.HasPrefix(own, sum) {
		return api.Refused{Why: fmt.Sprintf("%s has other bytes here than in the archive", name)}
	}
	if err := f.mark(name); err != nil {
		return err
	}
	f.noteArchived(name, ready)
	return nil
}
