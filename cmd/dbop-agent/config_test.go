//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// sound returns a configuration that is read without an error.
func sound() map[string]any {
	return map[string]any{
		"member": "m1", "token": "t", "directory": "/d", "sockets": "/s", "listen": ":1",
		"api":     map[string]any{"listen": ":2"},
		"address": "{member}.db:7", "peers": map[string]string{"m2": "other:9"},
		"initialMembers": []protocol.InitialMember{{ID: "m1"}, {ID: "m2"}, {ID: "w", Witness: true}},
		"settings":       protocol.Settings{Timing: protocol.DefaultTiming(), Durability: protocol.Strict, Acknowledge: 1},
		"postgres":       map[string]any{"bin": "/b", "port": 5432},
		"proxy":          map[string]string{"listen": ":3", "address": "{member}.db:5432"},
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		change     func(map[string]any)
	}{
		{"sound", "", func(map[string]any) {}},
		{"a field that is not known", "unknown field", func(c map[string]any) { c["pasword"] = "x" }},
		{"no token", "token is missing", func(c map[string]any) { delete(c, "token") }},
		{"a path for a name", "is no name of a member", func(c map[string]any) { c["member"] = "../x" }},
		{"somebody else", "is not among the initial members", func(c map[string]any) { c["member"] = "m9" }},
		{"no settings", "must be above 0", func(c map[string]any) { delete(c, "settings") }},
		{"a witness with a server", "a witness has no server", func(c map[string]any) { c["member"] = "w" }},
		{"a member without a server", "a witness has no server", func(c map[string]any) { delete(c, "postgres") }},
		{"a proxy that knows no server", "proxy.address is missing", func(c map[string]any) {
			c["proxy"] = map[string]string{"listen": ":3"}
		}},
		{"answers of Sentinel without a name", "sentinel needs name", func(c map[string]any) {
			c["sentinel"] = map[string]string{"listen": ":4", "address": "{member}.db:4"}
		}},
		{"a service that nobody can reach", "service needs namespace", func(c map[string]any) {
			c["service"] = map[string]string{"name": "db-client"}
		}},
		{"two servers", "an agent runs one server", func(c map[string]any) { c["valkey"] = map[string]any{"port": 6379} }},
		{"a member that joins later", "", func(c map[string]any) {
			delete(c, "initialMembers")
			delete(c, "settings")
			c["member"] = "m9"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			content := sound()
			c.change(content)
			raw, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "agent.json")
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readConfig(path, "")
			switch {
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("it gives %v, want %q", err, c.want)
			case c.want == "" && err != nil:
				t.Fatal(err)
			case err != nil:
				return
			}
			if got.address("m2") != "other:9" || got.address("m3") != "m3.db:7" || got.Ballast == 0 {
				t.Errorf("m2 is at %s, m3 at %s; the ballast is %d", got.address("m2"), got.address("m3"), got.Ballast)
			}
			if own, other := got.serverAddress(got.Member), got.serverAddress("m3"); own != "localhost:5432" ||
				other != "m3.db:5432" {
				t.Errorf("the own server is at %s, that of m3 at %s", own, other)
			}
			want := []protocol.MemberID{"m1", "m2", "w"}
			if voters := got.voters(); len(got.InitialMembers) > 0 && !slices.Equal(voters, want) {
				t.Errorf("the first voters are %v, want %v", voters, want)
			}
		})
	}
}

// TestConfigOfEnvironment reads what a pod template carries.
func TestConfigOfEnvironment(t *testing.T) {
	raw, err := json.Marshal(sound())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBOP_AGENT", string(raw))
	if c, err := readConfig("/nowhere", "DBOP_AGENT"); err != nil || c.Member != "m1" {
		t.Errorf("the member is %q: %v", c.Member, err)
	}
	if _, err := readConfig("/nowhere", "DBOP_OTHER"); err == nil || !strings.Contains(err.Error(), "DBOP_OTHER") {
		t.Errorf("a variable that is not set gives %v", err)
	}
	t.Setenv("DBOP_AGENT", `{"member": 1}`)
	if _, err := readConfig("", "DBOP_AGENT"); err == nil || !strings.Contains(err.Error(), "variable DBOP_AGENT") {
		t.Errorf("a configuration that can't be read gives %v", err)
	}
}
