//go:build linux

package proxy

import (
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestAwait collects garbage, which has to stop the loop each time, while a client keeps it waiting.
func TestAwait(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.call(func() { r.load.hide = time.Minute }) // far longer than a collection may take
	client, server := joined(t, r, always)
	var ended atomic.Bool
	passed := make(chan error, 1)
	go func() {
		one := make([]byte, 1)
		for !ended.Load() {
			if _, err := client.Write(one); err != nil {
				passed <- err
				return
			}
			if _, err := io.ReadFull(server, one); err != nil {
				passed <- err
				return
			}
			time.Sleep(time.Millisecond) // the loop waits meanwhile
		}
		passed <- nil
	}()
	for range 50 {
		began := time.Now()
		runtime.GC()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a collection waits %s for the loop", took)
		}
	}
	ended.Store(true)
	if err := <-passed; err != nil {
		t.Error(err)
	}
}
