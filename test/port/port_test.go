package port

import (
	"net"
	"strconv"
	"testing"
)

// TestTaken has two tests ask for many ports: none gets one of the other's, and a server can listen on each.
func TestTaken(t *testing.T) {
	had := map[int]bool{}
	for range 200 {
		port := Free(t)
		if had[port] {
			t.Errorf("%d was given twice", port)
		}
		had[port] = true
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		if lock, err := reserve(port); err == nil {
			_ = lock.Close()
			t.Errorf("%d could be taken again", port)
		}
	}
}
