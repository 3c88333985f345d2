package private

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// stopped is a part of what pg_controldata says.
const stopped = `pg_control version number:            1300
Database cluster state:               shut down
pg_control last modified:             Tue 24 Nov 2026 09:16:33 PM UTC
Latest checkpoint location:           1/2A000028
Latest checkpoint's TimeLineID:       3
`

func TestControlEnd(t *testing.T) {
	t.Parallel()
	got, err := parseControl([]byte(stopped)).End()
	if want := (protocol.Position{Timeline: 3, Offset: 0x12A000028}); err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	crashed := strings.ReplaceAll(stopped, "shut down", "in production")
	if _, err := parseControl([]byte(crashed)).End(); err == nil || !strings.Contains(err.Error(), "in production") {
		t.Errorf("data of a server that was killed is said to end: %v", err)
	}
	if _, err := parseControl([]byte("Database cluster state: shut down\n")).End(); err == nil {
		t.Error("data without a checkpoint is said to end")
	}
}

func TestControlRoom(t *testing.T) {
	t.Parallel()
	got := parseControl([]byte("max_prepared_xacts setting:           7\n")).Room()
	if want := [2]string{"max_prepared_transactions", "7"}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
