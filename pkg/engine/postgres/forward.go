package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/private"
)

// Forward brings the data of a backup to a target by the archived log. The server itself recovers it, on no
// address, and is stopped in order on a timeline of its own: what is left is data as a member has it.
type Forward struct {
	// Directory is what Unpack made, Bin holds the programs of the server, Sockets is an empty directory.
	Directory, Bin, Sockets string
	// Libraries holds libraries that the programs need and the system lacks; "" for none.
	Libraries string
	// RestoreCommand gets a file of the log, as restore_command does. It exits with 1 for a file that the archive has
	// not, and above 125 where the archive can't be asked.
	RestoreCommand string
	// Target is one that CheckTarget returned; the latest and none take all of the log. One that is not in the log is an
	// error.
	Target v1alpha1.RecoveryTarget
	// Log, if set, gets a line once the log was replayed: how long that took.
	Log io.Writer
	// Prepare, if set, changes a command before it runs.
	Prepare func(*exec.Cmd)
}

// Run recovers the data. After an error the directory is worthless.
func (f Forward) Run(ctx context.Context) error {
	if err := f.run(ctx); err != nil {
		return fmt.Errorf("bring the data forward by the log (to %q): %w", f.Target, f.missed(err))
	}
	return nil
}

// What the server says, in every version, of a target that it did not come to, and of one that it came to too early.
const (
	saidNever = "recovery ended before configured recovery target was reached"
	saidEarly = "requested recovery stop point is before consistent recovery point"
)

// missed says what became of the target, where that is why the server ended. The words of the server are left out: the
// last message of a pod is short, and they would fill it.
func (f Forward) missed(err error) error {
	switch {
	case strings.Contains(err.Error(), saidNever):
		return fmt.Errorf("%s was never reached: the archived log of timeline %s, which begins with the backup, ends "+
			"without it", f.Target, f.Target.Timeline)
	case strings.Contains(err.Error(), saidEarly):
		return fmt.Errorf("%s comes before the backup is complete: only an older backup leads to it", f.Target)
	}
	return err
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
	settings, err := f.settings()
	if err != nil {
		return err
	}
	server := private.Server{Programs: f.Bin, Libraries: f.Libraries, Data: f.pgdata(), Sockets: f.Sockets,
		Log: f.Log, Prepare: f.Prepare}
	control, err := server.Control(ctx)
	if err != nil {
		return err
	}
	server.Settings = append(settings, control.Room())
	if err := server.Run(ctx, nil); err != nil {
		return err
	}
	control, err = server.Control(ctx)
	if err != nil {
		return err
	}
	if record.End, err = control.End(); err != nil {
		return err
	}
	return loaded.Write(f.Directory, record)
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

// settings name one target at most. Those that are none come first: the server refuses a second target, and an empty
// one behind another too. They are named all the same, because ALTER SYSTEM may have left one.
func (f Forward) settings() ([][2]string, error) {
	out := [][2]string{
		{"restore_command", f.RestoreCommand}, {"recovery_end_command", ""}, {"archive_cleanup_command", ""},
		// Files that were used up go: with the default of 1 GB they would fill the smallest volume.
		{"max_wal_size", "128MB"},
		{"recovery_target", ""}, {"recovery_target_time", ""}, {"recovery_target_lsn", ""}, {"recovery_target_name", ""},
		{"recovery_target_xid", ""}, {"recovery_target_timeline", f.Target.Timeline}, {"recovery_target_action", "promote"},
	}
	t, inclusive := f.Target, "on"
	if t.Exclusive {
		inclusive = "off"
	}
	out = append(out, [2]string{"recovery_target_inclusive", inclusive})
	switch {
	case t.LSN != "":
		return append(out, [2]string{"recovery_target_lsn", t.LSN}), nil
	case t.Name != "":
		return append(out, [2]string{"recovery_target_name", t.Name}), nil
	case t.Transaction != "":
		return append(out, [2]string{"recovery_target_xid", t.Transaction}), nil
	case t.Time == "" || t.Time == v1alpha1.TargetLatest:
		return out, nil
	}
	at, err := time.Parse(time.RFC3339Nano, t.Time)
	if err != nil {
		return nil, fmt.Errorf("read the target: %w", err)
	}
	return append(out, [2]string{"recovery_target_time", at.UTC().Format("2006-01-02 15:04:05.999999") + "+00"}), nil
}
