//go:build linux

package logfiles

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Offer lists what the archive is to get, of a server with such a history that has the log up to a position. What no
// recovery reads is let go: the end of a history that was given up, and the notes of base backups.
func (f *Files) Offer(past datadir.Lineage, position protocol.Position) (api.LogFiles, error) {
	if err := f.keepEnded(past, position); err != nil {
		return api.LogFiles{}, err
	}
	ready, err := f.Waiting()
	if err != nil {
		return api.LogFiles{}, err
	}
	if err := f.forget(ready); err != nil {
		return api.LogFiles{}, err
	}
	out := api.LogFiles{Timeline: past.Timeline}
	for _, name := range ready {
		switch past.Needs(name) {
		case datadir.Needed:
			out.Names = append(out.Names, name)
		case datadir.Useless:
			if err := f.mark(name); err != nil {
				return api.LogFiles{}, err
			}
		}
	}
	return out, nil
}
