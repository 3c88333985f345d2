package valkey

import (
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestCheckLoad: which backups an engine loads, of its own and of the other product.
func TestCheckLoad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		engine           *Engine
		of, from, target string
		fits             bool
	}{
		"Redis 7.0 by Valkey":        {New(), "redis", "7.0.15", "8.1.1", true},
		"Redis 7.2 by Valkey":        {New(), "redis", "7.2.4", "9.1.2", true},
		"Redis 7.4 by Valkey":        {New(), "redis", "7.4.0", "9.1.2", false},
		"Redis 8 by Valkey":          {New(), "redis", "8.0.2", "9.1.2", false},
		"an unknown one by Valkey":   {New(), "redis", "unstable", "9.1.2", false},
		"Valkey by Redis":            {NewRedis(), "valkey", "8.1.1", "8.0.2", false},
		"another engine by Valkey":   {New(), "etcd", "3.6.16", "8.1.1", false},
		"Valkey by Valkey":           {New(), "valkey", "8.1.1", "9.1.2", true},
		"Valkey by an older release": {New(), "valkey", "9.1.2", "8.1.1", false},
	} {
		err := engine.CheckLoad(c.engine, c.of, c.from, c.target)
		if (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
		if refused := new(engine.Refusal); err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: %v is no refusal", name, err)
		}
	}
}
