package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/private"
)

// Forward brings the data of a backup to a later moment by the archived log. The server itself recovers it, on no
// address, and is stopped in order on a timeline of its own: what is left is data as a member has it.
type Forward struct {
	// Directory is what Unpack made, Bin holds the programs of the server, Sockets is an empty directory.
	Directory, Bin, Sockets string
	// Libraries holds libraries that the programs need and the system lacks; "" for none.
	Libraries string
	// RestoreCommand gets a file of the log, as restore_command does. It exits with 1 for a file that the archive has
	// not, and above 125 where the archive can't be asked.
	RestoreCommand string
	// To is the moment: what was committed later is not in the data. A moment that no later commit follows in the log is
	// an error of the server. Zero takes all of the log. Timeline is that of LogWindow.
	To       time.Time
	Timeline string
	// Prepare, if set, changes a command before it runs.
	Prepare func(*exec.Cmd)
}

// Run recovers the data. After an error the directory is worthless.
func (f Forward) Run(ctx context.Context) error {
	if err := f.run(ctx); err != nil {
		return fmt.Errorf("bring the data forward by the log (to %s): %w", f.target(), err)
	}
	return nil
}

func (f Forward) run(ctx context.Context) error {
	record, found, err := loaded.Read(f.Directory)
	if err == nil && !found {
		err = errors.New("there is none")
	}
	if err != nil {
		return err
	}
	if err := f.signal(); err != nil {
		return err
	}
	server := private.Server{Programs: f.Bin, Libraries: f.Libraries, Data: f.pgdata(), Sockets: f.Sockets,
		Settings: f.settings(), Prepare: f.Prepare}
	if err := server.Run(ctx, nil); err != nil {
		return err
	}
	control, err := server.Control(ctx)
	if err != nil {
		return err
	}
	if record.End, err = control.End(); err != nil {
		return err
	}
	return loaded.Write(f.Directory, record)
}

// target is the moment as the server takes it, "" for the end of the log.
func (f Forward) target() string {
	if f.To.IsZero() {
		return ""
	}
	return f.To.UTC().Format("2006-01-02 15:04:05.999999") + "+00"
}

func (f Forward) pgdata() string { return filepath.Join(f.Directory, "pgdata") }

// signal has the server recover from the archive. A backup of a standby has its signal, with which the server would
// wait for more of the log for ever.
func (f Forward) signal() error {
	if err := os.Remove(filepath.Join(f.pgdata(), "standby.signal")); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("prepare the recovery: %w", err)
	}
	if err := os.WriteFile(filepath.Join(f.pgdata(), "recovery.signal"), nil, 0o600); err != nil {
		return fmt.Errorf("prepare the recovery: %w", err)
	}
	return nil
}

func (f Forward) settings() [][2]string {
	return [][2]string{
		{"restore_command", f.RestoreCommand}, {"recovery_end_command", ""}, {"archive_cleanup_command", ""},
		{"recovery_target", ""}, {"recovery_target_lsn", ""}, {"recovery_target_name", ""}, {"recovery_target_xid", ""},
		{"recovery_target_inclusive", "on"}, {"recovery_target_time", f.target()},
		{"recovery_target_timeline", f.Timeline}, {"recovery_target_action", "promote"},
	}
}
