package group

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// memory keeps the document beside the log. What of the log was agreed on is only known from a leader, and a member
// that starts alone would not know that it has a part in a cluster.
type memory struct {
	file disk.Slots
	// document is what was on disk when the group was opened, or nil.
	document *protocol.Document
}

// openMemory reads what a member knew in an incarnation. A document of another one is none. After an error there is
// none either, and the next one is written all the same.
func openMemory(directory, token string) (m memory, err error) {
	var raw json.RawMessage
	var there bool
	if m.file, there, err = disk.OpenSlots(filepath.Join(directory, "document"), &raw); err == nil && there {
		var d protocol.Document
		if err = d.UnmarshalSnapshot(raw); err == nil && d.Token == token {
			m.document = &d
		}
	}
	if err != nil {
		return m, fmt.Errorf("find what the group agreed on before: %w", err)
	}
	return m, nil
}

// remember writes the document after each change but renewals, which tell nothing that an old document does not.
func (g *Group) remember() {
	for {
		select {
		case <-g.done:
			return
		case <-g.machine.changed:
		}
		g.machine.mu.Lock()
		raw, err := g.machine.document.MarshalSnapshot()
		founded := g.machine.document.Token == g.config.Token
		g.machine.mu.Unlock()
		if err == nil && founded {
			err = g.memory.file.Write(json.RawMessage(raw))
		}
		if err != nil {
			g.config.Report("remember what the group agreed on: " + err.Error())
		}
	}
}

// Remembered is what the group had agreed on, as far as this member knew when its agent ended: an old document, or nil.
func (g *Group) Remembered() *protocol.Document { return g.memory.document }
