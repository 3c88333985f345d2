package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// commitSetting says what a commit waits for before it is acknowledged.
const commitSetting = "synchronous_commit"

// checkCommit refuses a cluster whose commits wait for less than its durability promises: "off" loses acknowledged
// commits when the server crashes, "local" and "remote_write" those that no standby has on its disk
// (https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT). A session may still lower it
// for itself.
func checkCommit(s protocol.Settings) error {
	value, set := s.Values[commitSetting]
	waits := []string{"on", "true", "yes", "1", "remote_apply"}
	if !set || s.Durability == protocol.Async || slices.Contains(waits, strings.ToLower(value)) {
		return nil
	}
	return &engine.Refusal{Check: "settings", Reason: fmt.Sprintf("the setting %s is %q, and commits would wait for less "+
		"than durability %s promises", commitSetting, value, s.Durability),
		Hint: "leave it out, or give up the promise with durability=async; a session may set it for itself"}
}
