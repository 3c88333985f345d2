package local

import (
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	for major, unknown := range map[int][]string{
		13: {"idle_session_timeout", "transaction_timeout"}, 15: {"transaction_timeout"}, 17: nil,
	} {
		got := Server{Major: major}.Options()
		for _, name := range []string{"idle_session_timeout", "transaction_timeout"} {
			known := true
			for _, u := range unknown {
				known = known && u != name
			}
			if strings.Contains(got, " "+name+"=") != known {
				t.Errorf("version %d: %s", major, got)
			}
		}
		if !strings.Contains(got, "-c search_path=pg_catalog ") {
			t.Errorf("version %d: %s", major, got)
		}
	}
}
