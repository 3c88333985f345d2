package postgres

import (
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	for value, taken := range map[string]bool{"debug5": true, "info": true, "notice": true, "WARNING": true,
		"error": false, "log": false, "Fatal": false, "panic": false} {
		err := (&Engine{}).Lint(map[string]string{"log_min_messages": value}, "17.5")
		if refused := errors.Is(err, engine.ErrRefused); refused == taken || (err == nil) != taken {
			t.Errorf("%s: %v", value, err)
		}
	}
}
