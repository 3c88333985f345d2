package etcd

import (
	"fmt"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Unlocker = (*Engine)(nil)

// openWait is how long another process may hold the file.
const openWait = 5 * time.Second

// Unlock implements engine.Unlocker: users and roles stay, and nobody is asked
// for them (server/storage/schema/auth.go).
func (*Engine) Unlock(dataDir string) error {
	db, err := bolt.Open(filepath.Join(dataDir, "member", "snap", "db"), 0o600, &bolt.Options{Timeout: openWait})
	if err != nil {
		return fmt.Errorf("open the restored database: %w", err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		auth := tx.Bucket([]byte("auth"))
		if auth == nil {
			return nil
		}
		return auth.Put([]byte("authEnabled"), []byte{0})
	})
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("unlock the restored database: %w", err)
	}
	return nil
}
