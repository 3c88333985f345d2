package harness

import (
	"slices"
	"testing"
)

// TestEnvironment: what a person set in their shell reaches no program under test.
func TestEnvironment(t *testing.T) {
	for name, reaches := range map[string]bool{
		"DBOP_REPOSITORY": false, "DBOP_REGISTRY": false, "ETCDCTL_ENDPOINTS": false, "KUBECTL_EXTERNAL_DIFF": false,
		"XDG_DATA_HOME":      false,
		"DBOP_CLUSTER_CACHE": true, "XDG_CACHE_HOME": true, "GOPROXY": true,
	} {
		t.Setenv(name, "of-this-shell")
		if got := slices.Contains(environment(nil), name+"=of-this-shell"); got != reaches {
			t.Errorf("%s reaches a program: %v", name, got)
		}
		if !slices.Contains(environment(map[string]string{name: "given"}), name+"=given") {
			t.Errorf("%s was given and does not reach a program", name)
		}
	}
}
