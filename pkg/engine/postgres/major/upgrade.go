package major

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/private"
)

// Upgrade converts data whose server was stopped in order.
type Upgrade struct {
	// Directory has the data in pgdata, and the record of a loader. The new data takes its place: pg_upgrade links the
	// files of both, so the old data is lost with its first step.
	Directory string
	// Former are the programs of the data's version, Later those of the new one. Libraries are what Missing made.
	Former, Later Programs
	Libraries     string
	// Scratch is an empty directory with a short path.
	Scratch string
	// User is the superuser that made the data.
	User string
	// Prepare, if set, changes a command before it runs.
	Prepare func(*exec.Cmd)
}

// Run converts the data. After an error the directory is worthless.
func (u Upgrade) Run(ctx context.Context) error {
	if err := u.run(ctx); err != nil {
		return fmt.Errorf("convert the data of PostgreSQL %s: %w", u.Former.Major, err)
	}
	return nil
}

func (u Upgrade) run(ctx context.Context) error {
	former, later := u.former(), u.later()
	if err := u.do(former.Command(ctx, "postgres", "--version")); err != nil {
		return fmt.Errorf("its programs do not run in this image: %w", err)
	}
	control, err := former.Control(ctx)
	if err != nil {
		return err
	}
	if _, err := control.End(); err != nil {
		return err
	}
	if err := former.Run(ctx, func(ctx context.Context) error { return u.prepare(ctx, former) }); err != nil {
		return err
	}
	if err := u.do(later.Command(ctx, "initdb", u.initdb(control)...)); err != nil {
		return err
	}
	if err := u.upgrade(ctx, former, later); err != nil {
		return err
	}
	if err := later.Run(ctx, func(ctx context.Context) error { return u.finish(ctx, later) }); err != nil {
		return err
	}
	if control, err = later.Control(ctx); err != nil {
		return err
	}
	return u.replace(former, later, control)
}

// replace puts the new data into the place of the old.
func (u Upgrade) replace(former, later private.Server, control private.Control) error {
	record, _, err := loaded.Read(u.Directory)
	if err != nil {
		return err
	}
	if record.End, err = control.End(); err != nil {
		return err
	}
	if err := os.RemoveAll(former.Data); err != nil {
		return fmt.Errorf("remove the old data: %w", err)
	}
	if err := os.Rename(later.Data, former.Data); err != nil {
		return fmt.Errorf("put the new data into place: %w", err)
	}
	return loaded.Write(u.Directory, record)
}

// former is the server of the old data, later that of the new.
func (u Upgrade) former() private.Server {
	return private.Server{Programs: u.Former.Path(), Libraries: u.Libraries, Data: filepath.Join(u.Directory, "pgdata"),
		Sockets: u.Scratch, Open: true, Prepare: u.Prepare}
}

func (u Upgrade) later() private.Server {
	s := u.former()
	s.Programs, s.Libraries, s.Data = u.Later.Path(), "", filepath.Join(u.Directory, "upgraded")
	return s
}

// initdb are the arguments that make an empty database with the format of the old one. From version 16 on pg_upgrade
// brings its order of text.
func (u Upgrade) initdb(control private.Control) []string {
	args := []string{"--pgdata", u.later().Data, "--username", u.User, "--encoding", "UTF8", "--auth", "scram-sha-256",
		"--auth-local", "trust", "--locale", "C.UTF-8", "--no-instructions"}
	if segment := control["Bytes per WAL segment"]; segment != "" {
		if size, err := strconv.Atoi(segment); err == nil {
			args = append(args, "--wal-segsize="+strconv.Itoa(size>>20))
		}
	}
	later, err := strconv.Atoi(u.Later.Major)
	switch {
	case control["Data page checksum version"] != "0":
		args = append(args, "--data-checksums")
	case err == nil && later >= 18: // which makes them otherwise
		args = append(args, "--no-data-checksums")
	}
	return args
}

// upgrade runs pg_upgrade in a directory of its own.
func (u Upgrade) upgrade(ctx context.Context, former, later private.Server) error {
	files, err := former.Configure()
	if err != nil {
		return err
	}
	var options strings.Builder
	// pg_dump locks every table of a database at once, and the default is for 6400.
	for _, one := range append(files, [2]string{"max_locks_per_transaction", "1024"}) {
		fmt.Fprintf(&options, " -c %s=%s", one[0], one[1])
	}
	s := later
	s.Libraries = u.Libraries // for the old programs, which it runs
	cmd := s.Command(ctx, "pg_upgrade", "--link", "--old-bindir", former.Programs, "--new-bindir", later.Programs,
		"--old-datadir", former.Data, "--new-datadir", later.Data, "--username", u.User, "--socketdir", u.Scratch,
		"--old-options", options.String(), "--new-options", options.String())
	cmd.Dir = u.Scratch
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run pg_upgrade: %w: %s%s; change that in the database that was backed up, and take a backup of it",
			err, verdict(words.String()), findings(later.Data))
	}
	return nil
}

// last is how much of a program's words an error holds.
const last = 600

// do runs a command; its last words go into an error. Somebody may read its output.
func (u Upgrade) do(cmd *exec.Cmd) error {
	var words bytes.Buffer
	cmd.Stderr = &words
	if cmd.Stdout == nil {
		cmd.Stdout = &words
	}
	if err := cmd.Run(); err != nil {
		said := strings.Join(strings.Fields(words.String()), " ")
		return fmt.Errorf("run %s: %w: %s", filepath.Base(cmd.Path), err, said[max(0, len(said)-last):])
	}
	return nil
}
