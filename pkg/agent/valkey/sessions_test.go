//go:build linux

package valkey

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestParseSessions(t *testing.T) {
	t.Parallel()
	got := parseSessions("id=3 addr=10.0.0.1:5000 laddr=10.0.0.9:6379 name= cmd=get user=app\n" +
		"id=4 addr=10.0.0.2:5000 laddr=10.0.0.9:6379 name= cmd=NULL user=default\n" +
		"id=5 addr=/run/socket:0 laddr=/run/socket:0 cmd=client|list user=dbop\n" +
		"id=6 addr=[fd00::1]:5000 cmd=hello user=app\n")
	want := []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:5000"), netip.MustParseAddrPort("[fd00::1]:5000")}
	if !slices.Equal(got, want) {
		t.Errorf("logged in are %v, want %v", got, want)
	}
}

// TestAdmit waits for a client that has said nothing.
func TestAdmit(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(m1.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	admit := protocol.Job{Kind: protocol.Admit, Generation: 1}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if err := m1.Do(ctx, admit, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it does not wait for a client that says nothing: %v", err)
	}
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	m1.Must(admit)
}
