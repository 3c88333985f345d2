//go:build e2e

package etcd

import (
	"testing"
	"time"
)

// namedWithin is when a person must know what is wrong, not at the end of a
// timeout of minutes.
const namedWithin = 15 * time.Second

// TestStuck asks for members that can't start, and then for another try. It has a bound in seconds, so it runs beside
// no other test.
func TestStuck(t *testing.T) {
	for _, c := range []struct {
		name  string
		words []string
		flags []string
	}{
		{"image", []string{"image", "127.0.0.1:1/nobody/has:this"}, []string{"--image", "127.0.0.1:1/nobody/has:this"}},
		{"pod", []string{"schedul"}, []string{"--cpu", "500"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, "stuck", "my-db")
			args := append([]string{"create", "my-db", "--engine", "etcd", "--members", "1", "--storage",
				storage}, c.flags...)
			r := s.judge(s.try(args...), 9, c.words...)
			if r.Duration > namedWithin {
				t.Errorf("it took %s to be named:\n%s", r.Duration, r)
			}
			t.Logf("named after %s: %s", r.Duration.Round(100*time.Millisecond), r.Stderr)
			s.must("delete", "my-db", "--purge", "--skip-backup", "--yes")
			s.settledVolumes("my-db", 0)
		})
	}
}

// TestUnknownClass asks for volumes that nothing can provision: who may read
// storage classes is told before anything is made.
func TestUnknownClass(t *testing.T) {
	s := newScene(t, "class")
	s.quick(s.refused(4, []string{"no storage class no-such-class"}, "create", "my-db", "--engine", "etcd",
		"--storage-class", "no-such-class"))
	s.judge(s.try("status", "my-db"), 6, "not found")
}
