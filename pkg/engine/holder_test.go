package engine

import (
	"testing"
	"time"
)

func TestHoldText(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]Hold{
		"until somebody ends it, asked for by alice": {By: "alice"},
		`for 1h0m0s, asked for by alice, because "the switches are replaced"`: {For: time.Hour, By: "alice",
			Why: "the switches are replaced"},
	} {
		if got := h.Text(); got != want {
			t.Errorf("%+v: %q, want %q", h, got, want)
		}
	}
}
