package postgres

import (
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestCommit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value, durability string
		taken             bool
	}{
		{"on", "strict", true}, {"remote_apply", "strict", true}, {"ON", "strict", true},
		{"remote_write", "strict", false}, {"local", "strict", false}, {"off", "strict", false}, {"0", "strict", false},
		{"remote_write", "preferred", false}, {"local", "preferred", false}, {"off", "", false}, {"no", "", false},
		{"off", "async", true}, {"remote_write", "async", true}, {"local", "async", true},
	} {
		config := map[string]string{"synchronous_commit": test.value}
		if test.durability != "" {
			config["durability"] = test.durability
		}
		err := (&Engine{}).Lint(config, "17.5")
		if refused := errors.Is(err, engine.ErrRefused); refused == test.taken || (err == nil) != test.taken {
			t.Errorf("%s with durability %q: %v", test.value, test.durability, err)
		}
	}
}
