package repository

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// ErrBusy: somebody else is changing this backup right now; a repeat may succeed.
var ErrBusy = errors.New("backup is being changed by another process")

// claimSuffix names the lock file of a backup under change. It ends in .part,
// as everything does that a crash may leave.
const claimSuffix = ".claim" + partSuffix

// claim locks a backup against every other writer.
func (d *Directory) claim(id string) (*disk.Lock, error) {
	l, err := disk.Acquire(d.claimPath(id))
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("%w: %s in %s", ErrBusy, id, d.URL())
	}
	if err != nil {
		return nil, d.explain(err, "lock "+id)
	}
	return l, nil
}

// claimFor locks a backup for an operation that will write it, and refuses if
// another operation wrote it or began to.
func (d *Directory) claimFor(id, operation string) (*disk.Lock, error) {
	l, err := d.claim(id)
	if err != nil {
		return nil, err
	}
	note, err := l.Note()
	if err != nil {
		return nil, errors.Join(err, l.Unlock())
	}
	// Without its end mark a note was cut short by a crash: then nothing was
	// written under it yet, and it claims nothing.
	owner, whole := strings.CutSuffix(note, "\n")
	if whole && owner != operation {
		return nil, errors.Join(fmt.Errorf("%w: operation %s began %s in %s and has not finished it; "+
			"let it finish, delete that backup, or take one of another identifier",
			ErrExists, owner, id, d.URL()), l.Unlock())
	}
	if err := d.mayOverwrite(id, operation); err != nil {
		if whole {
			return nil, errors.Join(err, l.Unlock())
		}
		return nil, errors.Join(err, l.Release())
	}
	err = l.SetNote(operation + "\n")
	if err == nil {
		err = d.files.syncDir(d.path)
	}
	if err != nil {
		return nil, errors.Join(d.explain(err, "lock "+id), l.Release())
	}
	return l, nil
}

// mayOverwrite fails closed: a manifest that can't be read belongs to somebody.
func (d *Directory) mayOverwrite(id, operation string) error {
	m, err := d.manifest(id)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %s in %s, and its owner is unknown: %w", ErrExists, id, d.URL(), err)
	case m.Operation != operation:
		return fmt.Errorf("%w: operation %s wrote %s in %s; take one of another identifier",
			ErrExists, m.Operation, id, d.URL())
	}
	return nil
}
