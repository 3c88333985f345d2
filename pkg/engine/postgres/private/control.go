package private

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/basebackup"
)

// Control is what pg_controldata says, by its names.
type Control map[string]string

// Control reads the control file of the data.
func (s Server) Control(ctx context.Context) (Control, error) {
	out, err := s.Command(ctx, "pg_controldata", s.Data).Output()
	if err != nil {
		return nil, fmt.Errorf("run pg_controldata: %w", err)
	}
	return parseControl(out), nil
}

func parseControl(out []byte) Control {
	values := Control{}
	for line := range bytes.Lines(out) {
		name, value, _ := strings.Cut(string(line), ":")
		values[name] = strings.TrimSpace(value)
	}
	return values
}

// Room is the setting without which a server does not start on data that holds prepared transactions.
func (c Control) Room() [2]string {
	return [2]string{"max_prepared_transactions", cmp.Or(c["max_prepared_xacts setting"], "0")}
}

// End is where data ends whose server was stopped in order.
func (c Control) End() (protocol.Position, error) {
	if state := c["Database cluster state"]; state != "shut down" {
		return protocol.Position{}, fmt.Errorf("the server did not stop in order: it is %q", state)
	}
	timeline, err := strconv.ParseUint(c["Latest checkpoint's TimeLineID"], 10, 32)
	at, err2 := basebackup.ParseLSN(c["Latest checkpoint location"])
	return protocol.Position{Timeline: timeline, Offset: at}, errors.Join(err, err2)
}
