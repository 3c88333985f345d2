package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestPreparation(t *testing.T) {
	running := func(versions ...string) engine.View {
		var v engine.View
		for _, version := range versions {
			v.Members = append(v.Members, engine.Member{Version: version})
		}
		return v
	}
	for name, c := range map[string]struct {
		view   engine.View
		target string
		want   bool
	}{
		"3.6 to 3.7":                  {running("3.6.16", "3.6.16"), "3.7.3", true},
		"one still on 3.6":            {running("3.7.3", "3.6.16"), "3.7.3", true},
		"all on 3.7":                  {running("3.7.3", "3.7.2"), "3.7.3", false},
		"3.5 to 3.6":                  {running("3.5.35"), "3.6.16", false},
		"down from 3.7":               {running("3.7.3", "3.7.3"), "3.6.16", true},
		"down from 3.6":               {running("3.6.16", "3.6.16"), "3.5.35", true},
		"within 3.6":                  {running("3.6.16", "3.6.16"), "3.6.11", false},
		"a target that can't be read": {running("3.6.16"), "new", false},
	} {
		if got := New().Preparation(c.view, c.target) != ""; got != c.want {
			t.Errorf("%s: prepares: %t, want %t", name, got, c.want)
		}
	}
}
