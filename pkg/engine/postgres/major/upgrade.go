package major

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
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

	// target is where the new data is made, work where pg_upgrade leaves its scripts: below Directory and Scratch, if
	// they are not set.
	target, work string
	// cloned: the file system gives each version files of its own.
	cloned bool
	// settings of the former server come on top of those of a private one.
	settings [][2]string
}

// Run converts the data. After an error the directory is worthless.
func (u Upgrade) Run(ctx context.Context) error {
	if err := u.run(ctx); err != nil {
		return fmt.Errorf("convert the data of PostgreSQL %s: %w", u.Former.Major, err)
	}
	return nil
}

func (u Upgrade) run(ctx context.Context) error {
	if err := u.inOrder(ctx); err != nil {
		return err
	}
	if err := u.transfer(ctx); err != nil {
		return err
	}
	end, err := u.complete(ctx)
	if err != nil {
		return err
	}
	return u.replace(end)
}

// inOrder refuses data whose server did not stop in order.
func (u Upgrade) inOrder(ctx context.Context) error {
	former := u.former()
	if err := u.do(former.Command(ctx, "postgres", "--version")); err != nil {
		return fmt.Errorf("its programs do not run in this image: %w", err)
	}
	control, err := former.Control(ctx)
	if err == nil {
		_, err = control.End()
	}
	return err
}

// transfer makes the new data, up to its first start.
func (u Upgrade) transfer(ctx context.Context) error {
	control, err := u.former().Control(ctx)
	if err != nil {
		return err
	}
	u.settings = append(slices.Clone(u.settings), control.Room())
	former, later := u.former(), u.later()
	both, ctxBoth := errgroup.WithContext(ctx)
	both.Go(func() error { return u.do(later.Command(ctxBoth, "initdb", u.initdb(control)...)) })
	both.Go(func() error {
		return former.Run(ctxBoth, func(ctx context.Context) error { return u.prepare(ctx, former) })
	})
	if err := both.Wait(); err != nil {
		return err
	}
	return u.upgrade(ctx, former, later)
}

// complete starts the new server once, does what follows a conversion, and says where the data ends then. A repeat goes
// on.
func (u Upgrade) complete(ctx context.Context) (protocol.Position, error) {
	later := u.later()
	if err := later.Run(ctx, func(ctx context.Context) error { return u.finish(ctx, later) }); err != nil {
		return protocol.Position{}, err
	}
	control, err := later.Control(ctx)
	if err != nil {
		return protocol.Position{}, err
	}
	return control.End()
}

// replace puts the new data into the place of the old.
func (u Upgrade) replace(end protocol.Position) error {
	record, _, err := loaded.Read(u.Directory)
	if err != nil {
		return err
	}
	record.End = end
	if err := os.RemoveAll(u.former().Data); err != nil {
		return fmt.Errorf("remove the old data: %w", err)
	}
	if err := os.Rename(u.later().Data, u.former().Data); err != nil {
		return fmt.Errorf("put the new data into place: %w", err)
	}
	return loaded.Write(u.Directory, record)
}

// former is the server of the old data, later that of the new.
func (u Upgrade) former() private.Server {
	return private.Server{Programs: u.Former.Path(), Libraries: u.Libraries, Data: filepath.Join(u.Directory, "pgdata"),
		Sockets: u.Scratch, Open: true, Options: sessions(u.Former), Settings: u.settings, Prepare: u.Prepare}
}

func (u Upgrade) later() private.Server {
	s := u.former()
	s.Programs, s.Libraries, s.Options, s.Settings = u.Later.Path(), "", sessions(u.Later), nil
	s.Data = cmp.Or(u.target, filepath.Join(u.Directory, "upgraded"))
	return s
}

// scripts is the directory where pg_upgrade leaves what is to be done after it.
func (u Upgrade) scripts() string { return cmp.Or(u.work, u.Scratch) }

// initdb are the arguments that make an empty database with the format of the old one. From version 16 on pg_upgrade
// brings its order of text.
func (u Upgrade) initdb(control private.Control) []string {
	args := []string{"--pgdata", u.later().Data, "--username", u.User, "--encoding", "UTF8", "--auth", "scram-sha-256",
		"--auth-local", "trust", "--locale", "C.UTF-8", "--no-instructions",
		"--no-sync"} // pg_upgrade does that at its end
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
	// pg_dump locks every table of a database at once, and the default is for 6400.
	files = append(files, [2]string{"max_locks_per_transaction", "1024"})
	s, how := later, "--link"
	s.Libraries, s.Options = u.Libraries, former.Options // for the old programs and server
	if u.cloned {
		how = "--clone"
	}
	cmd := s.Command(ctx, "pg_upgrade", how, "--jobs", jobs(), "--old-bindir", former.Programs,
		"--new-bindir", later.Programs, "--old-datadir", former.Data, "--new-datadir", later.Data,
		"--username", u.User, "--socketdir", u.Scratch,
		"--old-options", options(slices.Concat(files, u.settings)), "--new-options", options(files))
	cmd.Dir = u.scripts()
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run pg_upgrade: %w: %s%s; %s", err, verdict(words.String()), findings(later.Data), u.remedy())
	}
	return nil
}

// mostJobs keeps a machine with many processors from taking all sessions of the private servers.
const mostJobs = 8

// jobs is how many databases are converted at once.
func jobs() string { return strconv.Itoa(min(runtime.GOMAXPROCS(0), mostJobs)) }

// inPlace says that the data is converted on the volume of its member.
func (u Upgrade) inPlace() bool { return u.target != "" }

// remedy is what helps where data can't be converted.
func (u Upgrade) remedy() string {
	if u.inPlace() {
		return "change that in the database"
	}
	return "change that in the database that was backed up, and take a backup of it"
}

// sessions are the options of all sessions in data of a version. They are a superuser's, as those of an agent.
func sessions(of Programs) string {
	version, _ := strconv.Atoi(of.Major) // it is one
	return local.Server{Major: version}.Options()
}

// options are settings as arguments of a server.
func options(settings [][2]string) string {
	var out strings.Builder
	for _, one := range settings {
		fmt.Fprintf(&out, " -c %s=%s", one[0], one[1])
	}
	return out.String()
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
