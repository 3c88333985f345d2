package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// messagesSetting says from which level on messages get into the log of the server.
const messagesSetting = "log_min_messages"

// checkMessages refuses a log without warnings: in one, the server says that it acknowledged a commit which no replica
// confirmed, and agents count those. The levels are those of the server's log, where "log" comes after "error"
// (https://www.postgresql.org/docs/current/runtime-config-logging.html#GUC-LOG-MIN-MESSAGES).
func checkMessages(values map[string]string) error {
	value, set := values[messagesSetting]
	quiet := []string{"error", "log", "fatal", "panic"}
	if !set || !slices.Contains(quiet, strings.ToLower(value)) {
		return nil
	}
	return &engine.Refusal{Check: "settings", Reason: fmt.Sprintf("the setting %s is %q, and the agent would not read in "+
		"the log which commits were acknowledged without a replica", messagesSetting, value),
		Hint: "leave it out, or choose warning or a level below"}
}
