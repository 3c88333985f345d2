package api

import (
	"context"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

type others = Users

// knows is a server that lets in who is known there.
type knows struct {
	others

	name string
}

func (k knows) TestLogin(_ context.Context, name, _ string) (bool, error) { return k.name == name, nil }

// TestLoginAsksPrimary: a replica may not know a user yet that was made just now.
func TestLoginAsksPrimary(t *testing.T) {
	t.Parallel()
	primary, replica := newAgent().service(), newAgent().service()
	primary.Users, replica.Users, replica.Member = knows{name: "root"}, knows{}, "m2"
	server := httptest.NewServer(primary.Handler())
	t.Cleanup(server.Close)
	replica.Dial = func(protocol.MemberID) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	}
	if accepted, err := client(t, replica).TestLogin(t.Context(), "root", "r"); err != nil || !accepted {
		t.Errorf("root is let in: %t, %v", accepted, err)
	}
}
