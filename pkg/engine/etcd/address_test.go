package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	at := addresses.Of(cluster())
	if got := at.PeerURL("db-3"); got != "https://db-3-0.db.prod.svc:2380" {
		t.Errorf("peer URL %s", got)
	}
	for u, want := range map[string]string{
		at.PeerURL("db-3"):                     "db-3",
		"http://db-12-0.db.prod.svc:2380":      "db-12",
		"https://other-1-0.other.prod.svc:230": "",
		"https://db-3.db.prod.svc:2380":        "",
		"https://127.0.0.1:2380":               "",
		":":                                    "",
	} {
		if got := at.Member(u); got != want {
			t.Errorf("member at %s is %q, want %q", u, got, want)
		}
	}
}
