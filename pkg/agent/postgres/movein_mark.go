//go:build linux

package postgres

import (
	"context"
	"encoding/json"
	"fmt"
)

// Stages of a cluster that began as the copy of another server.
const (
	// stageFollows: all data was copied, and what is written at the source comes after it.
	stageFollows = "follows"
	// stageCloses: the source may be closed, for a cut over that is not done.
	stageCloses = "closes"
	// stageHolds: the source is closed, and all that was written there is here.
	stageHolds = "holds"
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
}

func (s *Server) readMark(ctx context.Context) (m mark, err error) {
	got, err := s.once(ctx, "SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = "+literal(User))
	if err != nil || len(got[0]) == 0 || got[0][0][0] == "" {
		return m, err
	}
	_ = json.Unmarshal([]byte(got[0][0][0]), &m) // a comment that is not ours is no mark
	return m, nil
}

// writeMark commits a mark as every write is.
func (s *Server) writeMark(ctx context.Context, m mark) error { return s.commitMark(ctx, m, "on") }

func (s *Server) commitMark(ctx context.Context, m mark, synchronous string) error {
	text := "NULL"
	if m.Stage != "" {
		raw, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("note how far the source is followed: %w", err)
		}
		text = literal(string(raw))
	}
	_, err := s.once(ctx, "SET synchronous_commit = "+synchronous+"; COMMENT ON ROLE "+quoteName(User)+" IS "+text)
	return err
}

// meetMark takes back, before anybody may have the log of a new primary, that this one could go on where another
// member was: that may have confirmed to the source what is not here.
func (s *Server) meetMark(ctx context.Context) error {
	m, err := s.readMark(ctx)
	if err != nil || m.Stage == "" || m.Volume == "" {
		return err
	}
	s.mu.Lock()
	own := s.identity.Volume
	s.mu.Unlock()
	if m.Volume == own {
		return nil
	}
	m.Volume = ""
	return s.commitMark(ctx, m, "local") // no standby streams yet
}
