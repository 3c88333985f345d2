//go:build linux

package valkey

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestListSettings: the server tells what it has, what that is by default, and what it may be; and no secret.
func TestListSettings(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	m1.Must(protocol.Job{Kind: protocol.Reload, Settings: protocol.Settings{
		Version: 7, Values: map[string]string{"maxmemory": "50mb"},
	}})
	all, err := m1.ListSettings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]api.Setting{}
	for _, one := range all {
		got[one.Name] = one
		if one.Kept && one.Value != "" {
			t.Errorf("the value of %s is told", one.Name)
		}
		// What the agent sets has a second name in some releases.
		if one.Given && one.Name != "maxmemory" && one.Name != backlogSetting {
			t.Errorf("people may set %s, and the agent does: %+v", one.Name, one)
		}
	}
	for name, want := range map[string]api.Setting{
		"maxmemory":            {Kind: "memory", Default: "0", Value: "52428800", Given: true},
		"databases":            {Default: "16", Value: "16", AtStart: true},
		"lazyfree-lazy-expire": {Kind: "bool", Allowed: "yes or no", Default: "yes", Value: "yes"},
		"hz":                   {Kind: "integer", Allowed: "0 to 2147483647", Default: "10", Value: "10"},
		"replicaof":            {Kept: true},
		"masterauth":           {Kept: true},
	} {
		want.Name = name
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Error(diff)
		}
	}
}
