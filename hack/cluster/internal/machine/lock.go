package machine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/progress"
)

// lockFile is outside the state, which `down` removes.
const lockFile = "/run/lock/dbop-cluster"

// Lock makes sure that one driver at a time changes the cluster; a second one
// waits. The lock ends with the process, however that ends.
func Lock(log *progress.Log) (release func(), err error) {
	file, err := os.OpenFile(lockFile, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the cluster (needs root): %w", err)
	}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return func() { file.Close() }, nil
	}
	log.Printf("waiting for another driver that is changing the cluster")
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("wait for the lock of the cluster: %w", err)
	}
	return func() { file.Close() }, nil
}
