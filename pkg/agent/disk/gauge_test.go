//go:build linux

package disk

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// TestGauge: what is kept for the superuser can't be used by a server, and a file system may move more bytes at once
// than it counts in.
func TestGauge(t *testing.T) {
	t.Parallel()
	g := Gauge{stat: func(_ string, of *unix.Statfs_t) error {
		*of = unix.Statfs_t{Bsize: 1 << 20, Frsize: 1024, Blocks: 100, Bfree: 5, Bavail: 0}
		return nil
	}}
	if used, total := g.Space(); used != 95<<10 || total != used {
		t.Errorf("a full disk uses %d of %d bytes", used, total)
	}
	g.stat = func(string, *unix.Statfs_t) error { return errors.New("gone") }
	if used, total := g.Space(); used != 95<<10 || total != used {
		t.Errorf("a disk that fails uses %d of %d bytes", used, total)
	}
	real := Gauge{Directory: t.TempDir()}
	if used, total := real.Space(); used <= 0 || total < used {
		t.Errorf("this disk uses %d of %d bytes", used, total)
	}
}

// TestGaugeOfHungDisk: nobody waits for a disk that hangs, and its questions don't pile up.
func TestGaugeOfHungDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers, asked := make(chan struct{}), 0
		g := Gauge{stat: func(_ string, of *unix.Statfs_t) error {
			asked++
			<-answers
			*of = unix.Statfs_t{Bsize: 1, Blocks: 10, Bfree: 3, Bavail: 3}
			return nil
		}}
		from := time.Now()
		for range 3 {
			if used, total := g.Space(); used != 0 || total != 0 {
				t.Errorf("a disk that does not answer uses %d of %d bytes", used, total)
			}
		}
		if took := time.Since(from); took != 3*gaugeWait || asked != 1 {
			t.Errorf("asked %d times in %s", asked, took)
		}
		close(answers)
		synctest.Wait()
		if used, total := g.Space(); used != 7 || total != 10 {
			t.Errorf("it uses %d of %d bytes", used, total)
		}
	})
}
