package agreed

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	config := map[string]string{"durability": "strict", "acknowledge": "2", "max-lag": "1Ki", "work_mem": "9MB",
		"readonly-lag": "30s"}
	got, err := Settings(config)
	if err != nil {
		t.Fatal(err)
	}
	want := protocol.Settings{Version: 1, Timing: protocol.DefaultTiming(), Durability: protocol.Strict, Acknowledge: 2,
		MaxLag: 1024, Values: map[string]string{"work_mem": "9MB"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	config["max-lag"] = "1024"
	maps.Copy(config, showTimes(protocol.DefaultTiming()))
	if diff := cmp.Diff(config, Options(got)); diff != "" {
		t.Errorf("the options of it: %s", diff)
	}
	for name, value := range map[string]string{"durability": "perhaps", "acknowledge": "x", "max-lag": "-1",
		"readonly-lag": "-1s"} {
		if _, err := Settings(map[string]string{name: value}); err == nil {
			t.Errorf("%s may be %s", name, value)
		}
	}
	if _, err := Settings(map[string]string{"acknowledge": "0"}); err == nil {
		t.Error("nobody has to acknowledge what is preferred to be acknowledged")
	}
	async, err := Settings(map[string]string{"durability": "async"})
	if err != nil || async.Acknowledge != 0 {
		t.Errorf("async asks for %d standbys (%v)", async.Acknowledge, err)
	}
}

// TestReadonlyLag: what is usual is not told to agents, so that older ones agree on the same.
func TestReadonlyLag(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct {
		bound time.Duration
		shown string
	}{
		"30s": {0, "30s"}, "0": {protocol.NoReadonlyLag, "0s"}, "1m": {time.Minute, "1m0s"},
	} {
		s, err := Settings(map[string]string{"readonly-lag": value})
		if err != nil || s.ReadonlyLag != want.bound || Options(s)["readonly-lag"] != want.shown {
			t.Errorf("%s is %s, and shown as %s (%v)", value, s.ReadonlyLag, Options(s)["readonly-lag"], err)
		}
	}
	for _, value := range []string{"30", "1.5s", "x"} {
		if _, err := Settings(map[string]string{"readonly-lag": value}); err == nil {
			t.Errorf("it may be %s", value)
		}
	}
}
