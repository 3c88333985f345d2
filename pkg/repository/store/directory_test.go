package store_test

import (
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

func open(t *testing.T) store.Store {
	t.Helper()
	d, err := store.NewDirectory(filepath.Join(t.TempDir(), "not", "yet"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDirectory(t *testing.T) { storetest.Run(t, open) }
