package major

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	locks "github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// Linked converts the data of a member that was stopped, on its own volume. The files of tables have a name in
// the data of both versions, so that nothing of their size is copied. From the first start of the later version on the
// earlier one can't use them any more. A file system that clones files gives each version its own, at no more cost:
// there the earlier one can use them until its directory goes.
//
// What becomes the member's directory is made next to it, and takes its place once it is whole. The member's own
// directory stays as it is until then, but for what pg_upgrade renames there, and for what the former server wrote
// while it was run: so Revert makes a member of the former version again.
type Linked struct {
	// Upgrade has the programs. Its Directory is that of the member's data, in a directory of the member alone.
	Upgrade

	// Operation names what asked for it. A repeat with the same name goes on.
	Operation string
	// Recover makes data of a replica into that of a primary that was stopped in order.
	Recover func(ctx context.Context) error
}

// conversion is what is known of a conversion, in the directory that it makes.
type conversion struct {
	Operation string `json:"operation"`
	// Ahead is written first of all where data did not end in order, which the former server recovers: that was agreed
	// on with nobody, so the member can't run on it again.
	Ahead bool `json:"ahead,omitempty"`
	// Cloned is written before any file is: what the later version writes is in files of its own.
	Cloned bool `json:"cloned,omitempty"`
	// Started is written before the later version starts for the first time, Whole when its work is done.
	Started bool `json:"started,omitempty"`
	Whole   bool `json:"whole,omitempty"`
}

// endless keeps the whole log of the former server: other members, or the archive, may lack its end.
const endless = "2147483647"

// Run converts the data, or goes on with that. It returns nil once the member's directory is the converted one.
func (l Linked) Run(ctx context.Context) error {
	if err := l.alone(func() error { return l.run(ctx) }); err != nil {
		return fmt.Errorf("convert the data of PostgreSQL %s in place: %w", l.Former.Major, err)
	}
	return nil
}

// Revert makes the volume what it was before Run. It changes nothing and returns false where the later version was
// started already, on files of both versions or in the member's own directory.
func (l Linked) Revert() (reverted bool, err error) {
	err = l.alone(func() error {
		c, err := l.found()
		if err != nil || c.Ahead || c.Started && (!c.Cloned || !exists(l.next())) {
			return err
		}
		reverted = true
		if err := l.putBack(); err != nil {
			return err
		}
		return l.revert(false)
	})
	if err != nil {
		return false, fmt.Errorf("take back the conversion of the data: %w", err)
	}
	return reverted, nil
}

// putBack gives the member's directory its name back, where an exchange was interrupted.
func (l Linked) putBack() error {
	if exists(l.member()) {
		return nil
	}
	if err := os.Rename(l.last(), l.member()); err != nil {
		return fmt.Errorf("put the old data back: %w", err)
	}
	return disk.Sync(filepath.Dir(l.member()))
}

// alone keeps every other process of this kind from the volume: that of a pod which was deleted may still run. So may
// an agent, where the pod that converts was started next to it.
func (l Linked) alone(do func() error) (err error) {
	lock, err := locks.Acquire(l.member() + ".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if path := filepath.Join(l.member(), "lock"); exists(path) {
		agent, err := locks.Acquire(path)
		if err != nil {
			return fmt.Errorf("an agent runs on the volume: %w", err)
		}
		defer agent.Unlock() //nolint:errcheck // the kernel does it
	}
	return do()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (l Linked) member() string { return filepath.Dir(filepath.Clean(l.Directory)) }
func (l Linked) next() string   { return l.member() + ".next" }
func (l Linked) last() string   { return l.member() + ".former" }
func (l Linked) pgdata() string { return filepath.Join(l.Directory, "pgdata") }

// made is the directory of the data that is made.
func (l Linked) made() string { return filepath.Join(l.next(), filepath.Base(l.Directory)) }

func (l Linked) run(ctx context.Context) error {
	c, err := l.found()
	if err != nil {
		return err
	}
	u := l.Upgrade
	u.target, u.work = filepath.Join(l.made(), "pgdata"), filepath.Join(l.next(), "work")
	u.settings = [][2]string{{"wal_keep_size", endless}}
	if !c.Started {
		replica, err := l.begin(ctx, &c)
		if err != nil {
			return err
		}
		u.cloned = c.Cloned
		if replica {
			if err := l.Recover(ctx); err != nil {
				return fmt.Errorf("recover the data of a replica: %w", err)
			}
		}
		if err := u.transfer(ctx); err != nil {
			return err
		}
		c.Started = true
		if err := l.write(c); err != nil {
			return err
		}
	}
	if !c.Whole {
		if err := orphaned(u.target); err != nil {
			return err
		}
		end, err := u.complete(ctx)
		if err == nil {
			err = loaded.Write(l.made(), loaded.Record{End: end})
		}
		if err != nil {
			return err
		}
		c.Whole = true
		if err := l.write(c); err != nil {
			return err
		}
	}
	return l.exchange()
}

// name is the file of a conversion.
const name = "conversion.json"

// found reads how far this conversion came, in the member's directory if it is that of the later version already.
func (l Linked) found() (conversion, error) {
	for _, directory := range []string{l.next(), l.member()} {
		var c conversion
		there, err := disk.Read(filepath.Join(directory, name), &c)
		switch {
		case err != nil:
			return c, err
		case there && c.Operation == l.Operation:
			return c, nil
		case there && directory == l.next() && c.Started:
			return c, fmt.Errorf("operation %.80q converted it already, this is %q", c.Operation, l.Operation)
		case there && directory == l.next():
			return conversion{Ahead: c.Ahead}, nil // what another one did to the data stays
		}
	}
	return conversion{}, nil
}

func (l Linked) write(c conversion) error { return disk.Replace(filepath.Join(l.next(), name), c) }

// begin makes an empty directory for the new data, and says whether the old data is that of a replica. The former
// server runs without the slots of those who followed the member: they would hold back its log, and a slot of logical
// replication would not let it start.
func (l Linked) begin(ctx context.Context, c *conversion) (replica bool, err error) {
	if err := l.revert(true); err != nil {
		return false, err
	}
	if err := os.RemoveAll(l.last()); err != nil {
		return false, fmt.Errorf("remove the old data: %w", err)
	}
	control, err := l.former().Control(ctx)
	if err != nil {
		return false, err
	}
	state := control["Database cluster state"]
	replica = state == "shut down in recovery" || state == "in archive recovery"
	// Data of an interrupted conversion may be as a crash of the former server leaves it, which is no reason.
	c.Ahead = c.Ahead || replica || c.Operation == "" && state != "shut down"
	c.Operation = l.Operation
	for _, directory := range []string{l.made(), filepath.Join(l.next(), "work"), l.slots()} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			return false, fmt.Errorf("make a directory for the new data: %w", err)
		}
	}
	c.Cloned = clones(filepath.Join(l.pgdata(), "PG_VERSION"), filepath.Join(l.next(), "clone"))
	if err := l.write(*c); err != nil {
		return false, err
	}
	if err := orphaned(l.pgdata()); err != nil {
		return false, err
	}
	return replica, move(filepath.Join(l.pgdata(), "pg_replslot"), l.slots())
}

func (l Linked) slots() string { return filepath.Join(l.next(), "slots") }

// revert takes back what a conversion did before the first start of the later version. A repeat changes nothing. What
// is known of the conversion stays where another try follows.
func (l Linked) revert(again bool) error {
	global := filepath.Join(l.pgdata(), "global")
	control := filepath.Join(global, "pg_control")
	if _, err := os.Stat(control); errors.Is(err, fs.ErrNotExist) { // pg_upgrade put it aside before it linked files
		if err := os.Rename(control+".old", control); err != nil {
			return fmt.Errorf("put the control file back: %w", err)
		}
		if err := disk.Sync(global); err != nil {
			return err
		}
	}
	if err := move(l.slots(), filepath.Join(l.pgdata(), "pg_replslot")); err != nil {
		return err
	}
	entries, err := os.ReadDir(l.next())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range entries {
		if err == nil && e.Name() != name {
			err = os.RemoveAll(filepath.Join(l.next(), e.Name()))
		}
	}
	if err == nil && !again {
		err = os.RemoveAll(l.next())
	}
	if err != nil {
		return fmt.Errorf("remove the new data: %w", err)
	}
	return disk.Sync(filepath.Dir(l.next()))
}

// exchange puts the new directory into the place of the member's.
func (l Linked) exchange() error {
	if exists(l.next()) {
		if err := os.Rename(l.member(), l.last()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put the old data aside: %w", err)
		}
		if err := os.Rename(l.next(), l.member()); err != nil {
			return fmt.Errorf("put the new data into place: %w", err)
		}
		if err := disk.Sync(filepath.Dir(l.member())); err != nil {
			return err
		}
	}
	for _, old := range []string{l.last(), filepath.Join(l.member(), "work"), filepath.Join(l.member(), "slots")} {
		if err := os.RemoveAll(old); err != nil {
			return fmt.Errorf("remove the old data: %w", err)
		}
	}
	return nil
}

// orphaned removes what a server leaves that was killed. None runs on the volume.
func orphaned(pgdata string) error {
	if err := os.Remove(filepath.Join(pgdata, "postmaster.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what a killed server left: %w", err)
	}
	return nil
}

// move moves all that a directory holds into another one. What is not there was moved before.
func move(from, to string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if err == nil {
			err = os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		}
	}
	if err == nil {
		err = disk.Sync(to)
	}
	if err != nil {
		return fmt.Errorf("move the slots of replication: %w", err)
	}
	return nil
}
