package etcd

import "testing"

func TestAddresses(t *testing.T) {
	t.Parallel()
	at := addressesOf(cluster())
	if got := at.peerURL("db-3"); got != "https://db-3-0.db.prod.svc:2380" {
		t.Errorf("peer URL %s", got)
	}
	for u, want := range map[string]string{
		at.peerURL("db-3"):                     "db-3",
		"http://db-12-0.db.prod.svc:2380":      "db-12",
		"https://other-1-0.other.prod.svc:230": "",
		"https://db-3.db.prod.svc:2380":        "",
		"https://127.0.0.1:2380":               "",
		":":                                    "",
	} {
		if got := at.member(u); got != want {
			t.Errorf("member at %s is %q, want %q", u, got, want)
		}
	}
}
