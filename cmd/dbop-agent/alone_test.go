//go:build linux

package main

import (
	"crypto/x509"
	"encoding/json"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestAlone: an agent without certificates is one that nobody else reaches.
func TestAlone(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(map[string]any){
		"": func(map[string]any) {},
		`"0.0.0.0:1" is not there`: func(c map[string]any) {
			c["listen"] = "0.0.0.0:1"
		},
		`":2" is not there`: func(c map[string]any) { c["api"] = map[string]any{"listen": ":2"} },
		"is the only initial member": func(c map[string]any) {
			c["initialMembers"] = []protocol.InitialMember{{ID: "m1"}, {ID: "m2"}}
		},
		"takes no clients": func(c map[string]any) { c["health"] = map[string]any{"listen": "127.0.0.1:3"} },
	} {
		content := sound()
		content["alone"], content["listen"], content["api"] = true, "127.0.0.1:1", map[string]any{"listen": "127.0.0.1:2"}
		content["initialMembers"] = []protocol.InitialMember{{ID: "m1"}}
		delete(content, "proxy")
		change(content)
		raw, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseConfig(raw, "the test")
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if proof, _, err := c.proof(); proof != nil || err != nil {
			t.Errorf("clients prove %v, %v", proof, err)
		}
		kept, err := c.identify()
		if err != nil {
			t.Fatal(err)
		}
		i := kept.Identity()
		if _, err := i.Own.Leaf.Verify(x509.VerifyOptions{Roots: i.Authority, DNSName: "m1"}); err != nil {
			t.Error(err)
		}
	}
}
