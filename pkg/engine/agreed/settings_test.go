package agreed

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	config := map[string]string{"durability": "strict", "acknowledge": "2", "max-lag": "1Ki", "work_mem": "9MB"}
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
	if diff := cmp.Diff(config, Options(got)); diff != "" {
		t.Errorf("the options of it: %s", diff)
	}
	for name, value := range map[string]string{"durability": "perhaps", "acknowledge": "x", "max-lag": "-1"} {
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
