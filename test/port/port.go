// Package port gives ports to tests that start servers.
package port

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// attempts is after how many ports that somebody has Take gives up.
const attempts = 1000

// Free is a port of the loopback interface that nobody has until the test ends.
func Free(t testing.TB) int {
	t.Helper()
	port, release, err := Take()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return port
}

// Take picks a port that nobody listens on. It is outside the range from which the system takes those of outgoing
// connections: one of them could have it before the server does, or while the server is down. A lock keeps it from
// other tests, of other processes too, until release.
func Take() (port int, release func(), err error) {
	for range attempts {
		port = 10_000 + rand.IntN(20_000) // #nosec G404 -- no secret
		lock, err := reserve(port)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil && l.Close() == nil {
			return port, func() { _ = lock.Close() }, nil
		}
		_ = lock.Close()
	}
	return 0, nil, errors.New("find a free port: none of those tried is")
}

func reserve(port int) (*os.File, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("dbop-port-%d.lock", port))
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // #nosec G304 -- a name made here
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}
