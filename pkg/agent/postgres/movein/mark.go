//go:build linux

package movein

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// Stages of a cluster that follows another server.
const (
	// stageFollows: all data was copied, and what is written at the source comes after it.
	stageFollows = "follows"
	// stageCloses: the source may be closed, for a cut over that is not done.
	stageCloses = "closes"
	// stageHolds: the source is closed, and all that was written there is here.
	stageHolds = "holds"
	// stageBack: another cluster cut over from this one, and this one may follow it. That cluster wrote the mark.
	stageBack = "back"
	// stageOpens: this one begins to. Its databases are open, and nobody but the agent is let in.
	stageOpens = "opens"
)

// mark is what the database itself remembers of its source. It is replicated with the data, as the comment of the role
// of the agent: that is seen in all databases, and changes in one transaction.
type mark struct {
	Stage   string `json:"stage,omitempty"`
	Address string `json:"address,omitempty"`
	// Copy is in the names of the slots of this copy of all data, and of no other.
	Copy string `json:"copy,omitempty"`
	// Volume is that of the primary that made the copy: what was confirmed to the source, that one has. Another member
	// may lack some of it.
	Volume string `json:"volume,omitempty"`
	// Schemas are the sums of the definitions in each database, as they were copied.
	Schemas map[string]map[string]string `json:"schemas,omitempty"`
	// Made is what copies made here, this one or one before it.
	Made made `json:"made,omitzero"`
	// Kept is set where nothing was copied.
	Kept *kept `json:"kept,omitempty"`
}

// made is noted before it is made: another copy begins with its removal, and leaves alone what was here before.
type made struct {
	Databases []string `json:"databases,omitempty"`
	Roles     []string `json:"roles,omitempty"`
}

func (m made) nothing() bool { return len(m.Databases)+len(m.Roles) == 0 }

// kept is what a cluster remembers of the one that cut over from it.
type kept struct {
	// System is the identifier of that cluster.
	System string `json:"system"`
	// From is where its log was when nobody could write: what comes later is not here.
	From string `json:"from"`
	// Closed identifies each database of this cluster as the other one closed it.
	Closed map[string]string `json:"closed,omitempty"`
	// Confirmed is up to where of that log all is here. It is written before the source is told, and replicated like what
	// was applied before: a primary that reads it here has that.
	Confirmed string `json:"confirmed"`
}

func (s Server) readMark(ctx context.Context) (m mark, err error) {
	got, err := s.Once(ctx, "SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = "+
		local.Literal(local.User))
	if err != nil || len(got[0]) == 0 || got[0][0][0] == "" {
		return m, err
	}
	_ = json.Unmarshal([]byte(got[0][0][0]), &m) // a comment that is not ours is no mark
	return m, nil
}

// writeMark commits a mark as every write is.
func (s Server) writeMark(ctx context.Context, m mark) error { return s.commitMark(ctx, m, "on") }

func (s Server) commitMark(ctx context.Context, m mark, synchronous string) error {
	text := "NULL"
	if m.Stage != "" || !m.Made.nothing() {
		raw, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("note how far the source is followed: %w", err)
		}
		text = local.Literal(string(raw))
	}
	_, err := s.Once(ctx, "SET synchronous_commit = "+synchronous+"; COMMENT ON ROLE "+local.Identifier(local.User)+
		" IS "+text)
	return err
}

// MeetMark takes back, before anybody may have the log of a new primary, that this one could go on where another
// member was: that may have confirmed to the source what is not here. The volume is that of this member.
func (s Server) MeetMark(ctx context.Context, volume string) error {
	m, err := s.readMark(ctx)
	if err != nil || m.Stage == "" || m.Volume == "" {
		return err
	}
	if m.Volume == volume {
		return nil
	}
	m.Volume = ""
	return s.commitMark(ctx, m, "local") // no standby streams yet
}
