package group

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// recovery is on disk from when this member was asked to begin another incarnation.
type recovery struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Done says that the log is that of the new incarnation.
	Done bool `json:"done,omitempty"`
}

func recoveryFile(directory string) string { return filepath.Join(directory, "recovery.json") }

// Recover has this member begin another incarnation alone, with the document that it holds, when it is started with the
// token of that. From now on it takes no part in the present one, nor does it after a restart.
func (g *Group) Recover(token string) error {
	return disk.Replace(recoveryFile(g.config.Directory), recovery{From: g.config.Token, To: token})
}

// recover begins the incarnation of the configuration if that was asked for.
func (c Config) recover(config *raft.Config, log durable, snapshots raft.SnapshotStore) error {
	var r recovery
	there, err := disk.Read(recoveryFile(c.Directory), &r)
	switch {
	case err != nil || !there:
		return err
	case r.From == c.Token:
		return fmt.Errorf("this member was asked to begin the incarnation %s, and left %s: start it with the token of the "+
			"new one", r.To, r.From)
	case r.To != c.Token || r.Done:
		return nil
	}
	alone := raft.Configuration{Servers: []raft.Server{{ID: config.LocalID, Address: raft.ServerAddress(c.ID)}}}
	machine := &successor{machine{deliver: func(protocol.Event) {}}, c.Token, c.ID}
	_, transport := raft.NewInmemTransport("")
	err = raft.RecoverCluster(config, machine, log, log, snapshots, transport, alone)
	if err == nil {
		err = disk.RemoveSlots(filepath.Join(c.Directory, peersFile)) // they belong to the incarnation before
	}
	if err != nil {
		return fmt.Errorf("begin the incarnation %s: %w", c.Token, err)
	}
	r.Done = true
	return disk.Replace(recoveryFile(c.Directory), r)
}

// successor is a machine whose snapshot is the first document of the next incarnation.
type successor struct {
	machine
	token    string
	survivor protocol.MemberID
}

// Snapshot returns the document of the next incarnation.
func (s *successor) Snapshot() (raft.FSMSnapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.halted != nil {
		return nil, s.halted
	}
	d := s.document.Recovered(s.token, s.survivor)
	raw, err := d.MarshalSnapshot()
	return snapshot(raw), err
}
