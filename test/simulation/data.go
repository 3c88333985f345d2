package simulation

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// data is a data directory: whose history it holds and how far.
type data struct {
	// id is the member's identity in the group.
	id string
	// group is the history that it is part of; nil while an initial member waits for the others.
	group *group
	// token and peers are an initial member's own words.
	token string
	peers []string
	// term is that of its log's last entry, index how long the log is.
	term, index int
	// forks are where it left the timelines before its last, beside agents.
	forks []agreed.Fork
	// stale: the volume went back in time, and has not caught up since.
	stale bool
	// broken: it can't be read any more.
	broken bool
	// schema is the minor version of what is on disk, 0 before any.
	schema int
	// full of what was written and is no more.
	full bool
	// prepared is the minor version that the member was made ready for while it ran an older one.
	prepared int
}

// backup is a snapshot in a repository.
type backup struct {
	operation string
	index     int
	schema    int
	version   string
	token     string
	access    access
	proof     engine.Proof
	// Of which cluster, when, whether retention may delete it, and whether it was restored once.
	cluster             string
	at                  time.Time
	scheduled, verified bool
}

// restored is the data that a backup is became.
func (w *world) restored(b backup, token, member string) *data {
	id := initialID(member, token)
	g := w.found(token, []string{member})
	g.index, g.acked = b.index, b.index
	g.access, g.restored = b.access.clone(), true
	return &data{id: id, group: g, token: token, peers: []string{member}, index: b.index, schema: b.schema}
}

// copies reports whether any volume or backup holds the group's acknowledged writes.
func (w *world) copies(g *group) bool {
	for _, s := range w.slots {
		if s.volume != nil && !s.volume.deleting && s.volume.data != nil && s.volume.data.group == g &&
			s.volume.data.index >= g.acked && !s.volume.data.stale {
			return true
		}
	}
	for _, b := range w.backups {
		if b.token == g.token && b.index >= g.safe {
			return true
		}
	}
	return false
}
