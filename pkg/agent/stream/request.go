package stream

import (
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// request is the first line on a connection between two agents. It is answered by the line "ok".
type request struct {
	Generation protocol.Generation `json:"generation"`
	// Copy names the copy of the data that asks, "" for a tool.
	Copy string `json:"copy,omitempty"`
	// Facts asks for what the driver of the primary tells, and for no stream.
	Facts bool `json:"facts,omitempty"`
}

// answerTimeout bounds the answer of the other agent.
const answerTimeout = 2 * time.Second

func ask(c net.Conn, r request) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	if _, err := c.Write(append(raw, '\n')); err != nil {
		return err
	}
	answer, err := line(c)
	if err != nil {
		return err
	}
	if answer != "ok" {
		return fmt.Errorf("ask a primary of generation %d for its log: %s", r.Generation, answer)
	}
	return c.SetDeadline(time.Time{})
}
