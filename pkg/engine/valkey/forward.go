package valkey

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/valkey/rdb"
)

// incrFile is the append-only file that the server reads after the backup.
const incrFile = "appendonly.aof.1.incr.aof"

// Forward implements engine.LogArchiver. The archived stream becomes the append-only file that follows the backup: it
// holds the same commands. The server executes them as it loads its files.
func (*Engine) Forward(ctx context.Context, directory string, to engine.ForwardTo) error {
	files := filepath.Join(directory, appendOnly)
	begin, err := readBegin(filepath.Join(files, baseFile))
	if err != nil {
		return err
	}
	highest, err := strconv.ParseUint(to.Target.Timeline, 10, 64)
	if err != nil || begin.Stream == nil {
		return errors.Join(errors.New("bring a backup to a moment: it does not say where the log goes on"), err)
	}
	var until time.Time
	if to.Target.Time != v1alpha1.TargetLatest {
		if until, err = time.Parse(time.RFC3339Nano, to.Target.Time); err != nil {
			return fmt.Errorf("bring a backup to a moment: %w", err)
		}
	}
	start := logfile.Name{History: logfile.History(begin.Stream.ID), End: begin.Stream.Offset}
	p := follow(start, highest, to.Log)
	name := filepath.Join(files, incrFile)
	out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the path is ours
	if err != nil {
		return fmt.Errorf("bring a backup to a moment: %w", err)
	}
	w := newReplay(out, begin.Stream.Database, until)
	err = w.all(p.stretches, func(name string) ([]byte, error) { return to.Read(ctx, name) })
	if err == nil && until.IsZero() && p.gap != "" {
		err = errors.New(p.gap + " is missing in the archive")
	}
	if err == nil {
		err = w.end()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("bring a backup to a moment: %w", err)
	}
	list := "file " + baseFile + " seq 1 type b\nfile " + incrFile + " seq 1 type i\n"
	return disk.ReplaceBytes(filepath.Join(files, manifest), []byte(list))
}

func readBegin(path string) (f rdb.Facts, err error) {
	file, err := os.Open(path) //nolint:gosec // the path is ours
	if err != nil {
		return f, fmt.Errorf("bring a backup to a moment: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return rdb.Begin(file)
}

// replay writes the commands of a stream up to a moment. What is not whole at its end is left out.
type replay struct {
	file   *os.File
	out    *bufio.Writer
	scan   logfile.Scanner
	until  time.Time
	failed error
	// command holds what was read of the present one. Within says that a transaction goes on.
	command bytes.Buffer
	within  bool
	// wrote counts bytes, sound those that are whole, and at those before the last mark in time.
	wrote, sound, at int64
	over             bool
}

func newReplay(file *os.File, database uint64, until time.Time) *replay {
	r := &replay{file: file, out: bufio.NewWriterSize(file, 1<<20), until: until}
	r.write(resp.Encode([]string{"SELECT", strconv.FormatUint(database, 10)}))
	r.sound, r.at = r.wrote, r.wrote
	return r
}

func (r *replay) write(p []byte) {
	n, err := r.out.Write(p)
	r.wrote += int64(n)
	r.failed = errors.Join(r.failed, err)
}

// all reads files until the moment.
func (r *replay) all(of []stretch, read func(name string) ([]byte, error)) error {
	for i, s := range of {
		if r.over {
			return nil
		}
		body, err := read(s.String())
		if err != nil {
			return err
		}
		if uint64(len(body)) != s.End-s.start {
			return fmt.Errorf("%s has %d bytes, not the %d that its name says", s, len(body), s.End-s.start)
		}
		if i > 0 && of[i-1].History != s.History && (!r.scan.Between() || r.within) {
			return fmt.Errorf("%s begins within a command or a transaction", s)
		}
		if err := r.take(body[s.from-s.start : s.to-s.start]); err != nil {
			return fmt.Errorf("read %s: %w", s, err)
		}
	}
	return nil
}

// take reads a piece of the stream.
func (r *replay) take(p []byte) error {
	for len(p) > 0 && !r.over {
		n, whole, err := r.scan.Next(p)
		if err != nil {
			return err
		}
		r.command.Write(p[:n])
		p = p[n:]
		if whole {
			r.whole()
		}
		if r.failed != nil {
			return r.failed
		}
	}
	return nil
}

// whole takes a command. Those that only talk to replicas or listeners change no data.
func (r *replay) whole() {
	if m, ok := r.scan.Mark(); ok && !r.until.IsZero() {
		if r.over = m.Time.After(r.until); !r.over {
			r.at = r.sound
		}
	}
	switch strings.ToUpper(r.scan.Argument(0)) {
	case "PING", "REPLCONF", "PUBLISH", "SPUBLISH":
	case "MULTI":
		r.within = true
		r.write(r.command.Bytes())
	case "EXEC", "DISCARD":
		r.within = false
		r.write(r.command.Bytes())
	default:
		r.write(r.command.Bytes())
	}
	if !r.within {
		r.sound = r.wrote
	}
	r.command.Reset()
}

// end cuts the file where the data is that of the moment.
func (r *replay) end() error {
	if err := errors.Join(r.failed, r.out.Flush()); err != nil {
		return err
	}
	at := r.sound
	if !r.until.IsZero() {
		if at = r.at; !r.over {
			return fmt.Errorf("the archived log ends before %s", r.until.UTC().Format(time.RFC3339))
		}
	}
	return errors.Join(r.file.Truncate(at), r.file.Sync())
}
