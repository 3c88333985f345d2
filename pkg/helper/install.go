package helper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// Install copies the running executable to a path, with mode 0755, for init
// containers that have no shell to do it. A repeat replaces the copy; a crash
// leaves the old copy, or none, and maybe a file that ends in .part. It is not
// waited for that the disk has the copy: where a machine loses power, its
// kubelet runs the init containers of a pod again.
func Install(to string) error {
	from, err := os.Executable()
	if err != nil {
		return fmt.Errorf("install this program at %s: %w", to, err)
	}
	return install(from, to)
}

func install(from, to string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("install %s at %s: %w", from, to, err)
		}
	}()
	source, err := os.Open(filepath.Clean(from))
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	part := to + ".part"
	if err := copyTo(part, source); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	if err := os.Rename(part, to); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}

func copyTo(path string, source io.Reader) error {
	target, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(target, source, make([]byte, wire.Chunk))
	if err == nil {
		// Here and not above: there the umask would take bits away.
		err = target.Chmod(0o755)
	}
	return errors.Join(err, target.Close())
}
