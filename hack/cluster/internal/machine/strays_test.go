package machine

import (
	"net"
	"path/filepath"
	"testing"
)

func TestDead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if dead(path) {
		t.Error("a socket with a listener is not dead")
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if !dead(path) {
		t.Error("a socket without a listener is dead")
	}
	if dead(t.TempDir()) {
		t.Error("a directory is no socket")
	}
}
