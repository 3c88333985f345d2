//go:build linux

package valkey

import "testing"

// TestOlder: no member follows a primary whose data it may not be able to read.
func TestOlder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		own, primary string
		older        bool
	}{
		{"8.1.1", "8.1.9", false}, {"8.1.1", "9.1.2", true}, {"8.0.2", "8.1.1", true}, {"9.1.2", "8.1.1", false},
		{"8.1.1", "", false},
	} {
		s := &Server{product: product{release: c.own}}
		if err := s.older(facts{Release: c.primary}); (err != nil) != c.older {
			t.Errorf("%s follows %s: %v", c.own, c.primary, err)
		}
	}
}
