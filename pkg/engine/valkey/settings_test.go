package valkey

import (
	"slices"
	"testing"
)

// TestAtStart: what a release loads while it runs needs no restart.
func TestAtStart(t *testing.T) {
	t.Parallel()
	options := []string{"archive-timeout", "databases", "io-threads", "maxmemory"}
	for name, c := range map[string]struct {
		engine  *Engine
		version string
		want    []string
	}{
		"Valkey 8": {New(), "8.1.1", []string{"databases", "io-threads"}},
		"Valkey 9": {New(), "9.1.2", []string{"databases"}},
		"Redis":    {NewRedis(), "8.0.2", []string{"databases", "io-threads"}},
	} {
		if got := c.engine.AtStart(c.version, options); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
