package agreed

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestTimes(t *testing.T) {
	t.Parallel()
	config := map[string]string{"lease": "20s", "stop": "4s", "renewal": "2s", "agreement": "1s", "election-bound": "6s",
		"kill-and-reap": "2s", "scheduling": "500ms", "probe-age": "30s", "drift-ppm": "2000"}
	got, err := Settings(config)
	if err != nil {
		t.Fatal(err)
	}
	want := protocol.Timing{Election: protocol.DefaultTiming().Election, Lease: 20 * time.Second, Stop: 4 * time.Second,
		Renewal: 2 * time.Second, Agreement: time.Second, ElectionBound: 6 * time.Second, KillAndReap: 2 * time.Second,
		Scheduling: 500 * time.Millisecond, ProbeAge: 30 * time.Second, DriftPPM: 2000}
	if diff := cmp.Diff(want, got.Timing); diff != "" || len(got.Values) > 0 {
		t.Errorf("the times: %s; settings of the server: %v", diff, got.Values)
	}
	shown := Options(got)
	for name, value := range config {
		if shown[name] != value {
			t.Errorf("%s is %s, and shown as %s", name, value, shown[name])
		}
	}
	listed := map[string]bool{}
	for _, o := range OwnOptions() {
		listed[o.Name] = o.Default != ""
	}
	for _, name := range FixedOptions() {
		if _, set := config[name]; !set || !listed[name] {
			t.Errorf("%s is not tried here, or not listed with its default", name)
		}
	}
}

// TestTimesRefused: a set that breaks a rule is refused by the rule.
func TestTimesRefused(t *testing.T) {
	t.Parallel()
	for why, config := range map[string]map[string]string{
		"raise stop":          {"stop": "1s"},
		"raise lease":         {"lease": "6s"},
		"must be above 0":     {"probe-age": "0s"},
		"at most 1h":          {"lease": "2h"},
		"takes a time":        {"lease": "7"},
		"parts per million":   {"drift-ppm": "1%"},
		"from 0 to 100000":    {"drift-ppm": "-1"},
		"drift of two clocks": {"drift-ppm": "90000"},
	} {
		if _, err := Settings(config); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v: %v, want %q", config, err, why)
		}
	}
}
