//go:build linux

package postgres

import (
	"errors"
	"os"
	"path/filepath"
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

// TestCheckStart: what a server would not start with is refused, although each setting is valid.
func TestCheckStart(t *testing.T) {
	t.Parallel()
	m := alone(t)
	err := m.CheckValues(t.Context(), map[string]string{"shared_preload_libraries": "nosuch"})
	if refused, ok := errors.AsType[api.Refused](err); !ok || !strings.Contains(refused.Why, `file "nosuch"`) {
		t.Errorf("a library that is missing: %v", err)
	}
	memory := func(connections string) int64 {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "check")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		megabytes, err := m.sharedMemory(t.Context(), dir, []string{"-c", "max_connections=" + connections,
			"-c", "config_file=/dev/null"})
		if err != nil {
			t.Fatal(err)
		}
		return megabytes
	}
	few, many := memory("100"), memory("100000")
	if few < 100 || many < few+1000 {
		t.Errorf("100 connections take %d MiB, and 100,000 %d", few, many)
	}
	for limit, fit := range map[string]bool{"max": true, "0x": true, "1073741824": true, "1048576": false} {
		if err := fits(few, limit); (err == nil) != fit {
			t.Errorf("%d MiB within %s: %v", few, limit, err)
		}
	}
}

// TestInitialiseRefuses: no data is made for settings with which the server would not start.
func TestInitialiseRefuses(t *testing.T) {
	t.Parallel()
	m := newSite(t).open("m1")
	job := protocol.Job{Kind: protocol.Initialise,
		Settings: protocol.Settings{Values: map[string]string{"sharedbufers": "64MB"}}}
	err := m.Do(t.Context(), job, func() bool { return true })
	if err == nil || !strings.Contains(err.Error(), `"sharedbufers"`) || m.Observe(t.Context()).Volume != "" {
		t.Errorf("%v, and the data is %+v", err, m.Observe(t.Context()))
	}
	job.Settings.Values = map[string]string{"shared_buffers": "64MB"}
	if o := m.Must(job); o.Volume == "" {
		t.Errorf("%+v", o)
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
