//go:build linux

package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestCheckValues(t *testing.T) {
	t.Parallel()
	m := newSite(t).open("m1")
	for name, c := range map[string]struct {
		values map[string]string
		want   string
	}{
		"sound":          {map[string]string{"work_mem": "9MB", "log_line_prefix": "%m 'x' \\ "}, ""},
		"none":           {nil, ""},
		"no number":      {map[string]string{"work_mem": "much"}, `invalid value for parameter "work_mem"`},
		"out of range":   {map[string]string{"max_connections": "0"}, "outside the valid range"},
		"unknown":        {map[string]string{"no_such_mem": "9MB"}, "unrecognized configuration parameter"},
		"the agent's":    {map[string]string{"fsync": "off"}, "fsync belongs to the agent"},
		"in capitals":    {map[string]string{"Recovery_Min_Apply_Delay": "1h"}, "recovery_min_apply_delay belongs to the"},
		"with dashes":    {map[string]string{"work-mem": "9MB"}, `"work-mem" is written work_mem`},
		"nobody gets in": {map[string]string{"max_connections": "5"}, "max_connections is 5: it must be above"},
		"another server": {map[string]string{"data_directory": "/"}, "belongs to the agent"},
	} {
		err := m.CheckValues(t.Context(), c.values)
		refused := api.Refused{}
		_ = errors.As(err, &refused)
		if (c.want == "") != (err == nil) || !strings.Contains(refused.Why, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestPending: a setting that the server takes only at a start is named until then.
func TestPending(t *testing.T) {
	t.Parallel()
	m := alone(t)
	reload := func(version uint64, values map[string]string, want ...string) {
		t.Helper()
		settings := protocol.Settings{Version: version, Values: values}
		if err := m.reload(t.Context(), settings); err != nil {
			t.Fatal(err)
		}
		got, _ := m.Pending()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pending after %v: %s", values, diff)
		}
		if got := m.Observe(t.Context()).Settings; got != version {
			t.Errorf("it has settings %d, want %d", got, version)
		}
	}
	reload(2, map[string]string{"work_mem": "9MB"})
	if got := m.sql("SHOW work_mem"); got != "9MB" {
		t.Errorf("work_mem is %s", got)
	}
	reload(3, map[string]string{"work_mem": "9MB", "max_connections": "111"}, "max_connections")
}
