package engine

import (
	"testing"
	"time"
)

func TestSourceText(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Source{
		"copies the data of there:1: 7 bytes came so far": {Address: "there:1", Received: 7},
		"follows there:1, 37 bytes behind, heard of it 1s ago": {Address: "there:1", Following: true, Linked: true,
			Lag: Distance{Amount: 37, Unit: "bytes"}, Silent: time.Second},
		"follows there:1, and its connection is broken for 9s": {Address: "there:1", Following: true,
			Silent: 9 * time.Second},
		"connect to the source there:1: refused": {Address: "there:1", Following: true,
			Problem: "connect to the source there:1: refused"},
	} {
		if got := s.Text(); got != want {
			t.Errorf("it is told as %q, want %q", got, want)
		}
	}
}
