package bucket

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// MountedClaim is where a pod mounts the claim of a repository, whole.
const MountedClaim = "/claim"

// Claim is where the repository is, if that is a claim: Path is the directory in it, "" for its root.
func (d Description) Claim() (at repository.Location, ok bool) {
	at, err := repository.ParseLocation(d.URL)
	return at, err == nil && at.Kind == repository.KindClaim && at.String() == d.URL
}

// openClaim opens the directory of a claim that is mounted here. Pods of databases, which have another user, may read
// what is stored there.
func openClaim(claim, path string) (store.Store, error) {
	if _, err := os.Stat(MountedClaim); err != nil {
		return nil, fmt.Errorf("claim %s is not mounted: %w", claim, err)
	}
	return store.NewSharedDirectory(filepath.Join(MountedClaim, filepath.FromSlash(path)))
}
