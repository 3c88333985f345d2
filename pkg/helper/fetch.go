package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// A fetch that was cut off is started again, for a store may be out of reach for a while.
const (
	fetchTries = 4
	fetchPause = 5 * time.Second
)

// Fetch reads a backup out of a repository by itself and makes the data directory of it, as Receive does with one
// that is sent. If the directory was made before, it reads nothing; then nothing describes the data. report is the file
// for the result, the pod's termination log; "" for none.
func (o LoadOptions) Fetch(ctx context.Context, repo repository.Repository, id, report string) error {
	made, err := o.begin()
	if err != nil {
		return err
	}
	var out Loaded
	if !made {
		r := newReceiver(o)
		if err := r.tries(ctx, repo, id); err != nil {
			return fmt.Errorf("load backup %s into %s: %w", id, r.target.into, err)
		}
		if i := r.status.now().DataHash; i != nil {
			out.DataHash = *i
		}
	}
	if report == "" {
		return nil
	}
	if m, err := repo.Get(ctx, id); err == nil { // else who reads the report asks for it
		out.Backup, out.Recorded = m.ID, m.Facts.Proof
	}
	content, err := json.Marshal(out)
	if err == nil {
		err = os.WriteFile(report, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("report what was loaded into %s: %w", o.Into, err)
	}
	return nil
}

// tries fetches until that succeeds, or would never.
func (r *receiver) tries(ctx context.Context, repo repository.Repository, id string) error {
	for try := 1; ; try++ {
		err := r.fetch(ctx, repo, id)
		if err == nil || final(err) || try == fetchTries || ctx.Err() != nil {
			return err
		}
		_, _ = fmt.Fprintln(r.output, "try", try, "failed:", err)
		select {
		case <-time.After(fetchPause):
		case <-ctx.Done():
		}
	}
}

// servedWithin is how long the server beside a loader may take to start.
const servedWithin = 2 * time.Minute

// FetchServed is Fetch out of the repository that another container of the pod serves on this loopback address. That
// one may start later.
func (o LoadOptions) FetchServed(ctx context.Context, address, id, report string) error {
	var d net.Dialer
	dial := func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", address) }
	if err := Await(ctx, dial, servedWithin); err != nil {
		return fmt.Errorf("load backup %s into %s: %w", id, o.Into, err)
	}
	repo := repository.NewRemote("http://"+address, dial)
	defer func() { _ = repo.Close() }()
	return o.Fetch(ctx, repo, id, report)
}

// final reports whether a repeat would end in the same way.
func final(err error) bool {
	for _, e := range []error{repository.ErrDamaged, repository.ErrNotFound, repository.ErrFormat, archive.ErrKey,
		ErrVolumeFull, ErrCommand, ErrOccupied} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (r *receiver) fetch(ctx context.Context, repo repository.Repository, id string) error {
	if files, ok := repo.(*repository.Directory); ok && !r.once {
		switch m, err := files.Get(ctx, id); {
		case err != nil:
			return err
		case m.Parent == "":
			return r.inPlace(ctx, files, id)
		}
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	reading, watch := repository.WatchStandstill(reading, repository.StandstillAfter)
	in, size, _, err := repository.Whole(reading, repo, id) // each part is compared at its end
	if err != nil {
		return watch.End(err)
	}
	defer func() { _ = in.Close() }()
	return watch.End(r.load(ctx, checked{Reader: watch.Reader(in), stop: stop}, size, ""))
}

// checked is a source that compares what it passes on by itself.
type checked struct {
	io.Reader
	stop func()
}

func (checked) done() error { return nil }

// abandon ends the requests to the store.
func (c checked) abandon() { c.stop() }

// Loaded is the report of Fetch: what was loaded, and what the backup says of itself.
type Loaded struct {
	engine.DataHash
	// Backup is its identifier; "" if it could not be asked for Recorded.
	Backup   string       `json:"backup,omitempty"`
	Recorded engine.Proof `json:"recorded,omitempty"`
}

// ReadLoaded is the other side of Fetch; an empty message is one that proves nothing.
func ReadLoaded(message string) Loaded {
	var l Loaded
	_ = json.Unmarshal([]byte(message), &l)
	return l
}
