package postgres

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/basebackup"
)

// Forward brings the data of a backup to a later moment by the archived log. The server itself recovers it, on no
// address, and is stopped in order on a timeline of its own: what is left is data as a member has it.
type Forward struct {
	// Directory is what Unpack made, Bin holds the programs of the server, Sockets is an empty directory.
	Directory, Bin, Sockets string
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

// said is how much of the server's words an error holds.
const said = 10

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
	conf, err := f.configure()
	if err != nil {
		return err
	}
	if err := f.recover(ctx, conf); err != nil {
		return err
	}
	if record.End, err = f.end(ctx); err != nil {
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

// configure writes files that keep everybody out. A backup of a standby has its signal, with which the server would
// wait for more of the log for ever.
func (f Forward) configure() (conf string, err error) {
	if err := os.Remove(filepath.Join(f.pgdata(), "standby.signal")); err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("prepare the recovery: %w", err)
	}
	conf = filepath.Join(f.Sockets, "postgresql.conf")
	for path, content := range map[string]string{
		conf: "", filepath.Join(f.Sockets, "pg_hba.conf"): "local all all reject\n",
		filepath.Join(f.pgdata(), "recovery.signal"): "",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return "", fmt.Errorf("prepare the recovery: %w", err)
		}
	}
	return conf, nil
}

// recover runs the server until it is done, and stops it.
func (f Forward) recover(ctx context.Context, conf string) error {
	args := []string{"-D", f.pgdata()}
	for _, s := range [][2]string{
		{"config_file", conf}, {"hba_file", filepath.Join(f.Sockets, "pg_hba.conf")}, {"ident_file", os.DevNull},
		{"listen_addresses", ""}, {"unix_socket_directories", f.Sockets}, {"logging_collector", "off"},
		{"log_destination", "stderr"}, {"lc_messages", "C"}, {"archive_mode", "off"}, {"hot_standby", "off"},
		{"wal_level", "replica"}, {"wal_log_hints", "on"}, {"max_wal_senders", "0"}, {"synchronous_standby_names", ""},
		{"ssl", "off"}, {"autovacuum", "off"}, {"restore_command", f.RestoreCommand}, {"recovery_end_command", ""},
		{"archive_cleanup_command", ""}, {"recovery_target", ""}, {"recovery_target_lsn", ""},
		{"recovery_target_name", ""}, {"recovery_target_xid", ""}, {"recovery_target_inclusive", "on"},
		{"recovery_target_time", f.target()},
		{"recovery_target_timeline", f.Timeline}, {"recovery_target_action", "promote"},
	} {
		args = append(args, "-c", s[0]+"="+s[1])
	}
	cmd := f.command(ctx, "postgres", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	out, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	ready, words := follow(out, func() { _ = cmd.Process.Signal(syscall.SIGINT) })
	if err := cmd.Wait(); err != nil || !ready {
		return fmt.Errorf("the server did not recover: %w: %s", err, strings.Join(words, "; "))
	}
	return nil
}

// follow reads what the server says to its end, and calls stop once it would take clients: then it is recovered.
func follow(out io.Reader, stop func()) (ready bool, words []string) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words = append(words, lines.Text())
		words = words[max(0, len(words)-said):]
		if !ready && strings.Contains(lines.Text(), "database system is ready to accept connections") {
			ready = true
			stop()
		}
	}
	return ready, words
}

func (f Forward) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(f.Bin, program), args...) //nolint:gosec // the program is the image's
	cmd.Env, cmd.WaitDelay = append(os.Environ(), "LC_ALL=C.UTF-8"), 10*time.Second
	if f.Prepare != nil {
		f.Prepare(cmd)
	}
	return cmd
}

// end reads where the recovered data ends.
func (f Forward) end(ctx context.Context) (protocol.Position, error) {
	out, err := f.command(ctx, "pg_controldata", f.pgdata()).Output()
	if err != nil {
		return protocol.Position{}, fmt.Errorf("run pg_controldata: %w", err)
	}
	values := map[string]string{}
	for line := range bytes.Lines(out) {
		name, value, _ := strings.Cut(string(line), ":")
		values[name] = strings.TrimSpace(value)
	}
	if state := values["Database cluster state"]; state != "shut down" {
		return protocol.Position{}, fmt.Errorf("the server did not stop in order: it is %q", state)
	}
	timeline, err := strconv.ParseUint(values["Latest checkpoint's TimeLineID"], 10, 32)
	at, err2 := basebackup.ParseLSN(values["Latest checkpoint location"])
	return protocol.Position{Timeline: timeline, Offset: at}, errors.Join(err, err2)
}
