package helper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// receiverURL has a host only to fill the Host header: dial alone decides where to.
const receiverURL = "http://helper"

// Load sends a backup of that size and SHA-256, or ComparedInside, to a receiver and waits until
// the data directory is in place. Errors match ErrOccupied, ErrLoading,
// ErrVolumeFull, ErrCommand and repository.ErrDamaged; an error of r, which
// is never read after Load returned, comes back as it is. report, which may be
// nil, hears the bytes sent so far. The answer describes what was loaded, if
// the receiver was asked to; else it is empty, as it is where the load had been
// done before. It ends with repository.ErrStandstill if no byte moves for long; what the receiver makes of them may
// take its time.
//
// If the answer is lost the load may have succeeded: then the receiver's
// process has ended well. Otherwise a repeat with a fresh r does no harm.
func Load(ctx context.Context, dial func(context.Context) (net.Conn, error), r io.Reader, size int64, sha256 string,
	report func(int64)) (engine.DataHash, error) {
	ctx, watch := repository.WatchStandstill(ctx, repository.StandstillAfter)
	counter := repository.Counter{Report: report}
	body := &lentReader{source: counter.Reader(watch.Reader(r))}
	client := wire.NewClient(dial)
	defer client.CloseIdleConnections()
	status, err := put(ctx, client, body, size, sha256)
	// The transport may still read after an early answer, and r is borrowed.
	_ = body.Close()
	err = watch.End(err)
	if err != nil && body.failure != nil {
		err = body.failure
	}
	if err != nil {
		return engine.DataHash{}, fmt.Errorf("load a backup of %d bytes into a member (%d sent): %w", size, counter.Total(),
			err)
	}
	if status.DataHash == nil {
		return engine.DataHash{}, nil
	}
	return *status.DataHash, nil
}

func put(ctx context.Context, client *http.Client, body io.ReadCloser, size int64, sha256 string) (Status, error) {
	var status Status
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, receiverURL+pathSnapshot, body)
	if err != nil {
		return status, err
	}
	req.ContentLength = size
	req.Header.Set(headerSHA256, sha256)
	// A receiver that refuses says so before gigabytes are under way.
	req.Header.Set("Expect", "100-continue")
	resp, err := client.Do(req)
	if err != nil {
		return status, err
	}
	if err := loadFaults().Check(resp); err != nil {
		return status, err
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, maxRequest)).Decode(&status)
	return status, errors.Join(err, resp.Body.Close())
}

// Ready makes one attempt to reach a receiver, or a repository's server.
func Ready(ctx context.Context, dial func(context.Context) (net.Conn, error)) error {
	client := wire.NewClient(dial)
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, receiverURL+repository.PathHealth, nil)
	if err != nil {
		return fmt.Errorf("reach the helper: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("reach the helper: %w", err)
	}
	if err := loadFaults().Check(resp); err != nil {
		return fmt.Errorf("reach the helper: %w", err)
	}
	return resp.Body.Close()
}

// awaitPoll is the pause between two attempts of Await.
const awaitPoll = 50 * time.Millisecond

// Await is Ready, repeated until that succeeds. After so long it returns the last error.
func Await(ctx context.Context, dial func(context.Context) (net.Conn, error), within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(awaitPoll)
	defer tick.Stop()
	for {
		err := Ready(ctx, dial)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// lentReader gives its source back: after Close, which waits for a read that
// is under way, the source is not touched, and failure is what it failed with.
type lentReader struct {
	mu      sync.Mutex
	source  io.Reader
	closed  bool
	failure error
}

func (l *lentReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, io.ErrClosedPipe
	}
	n, err := l.source.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		l.failure = err
	}
	return n, err
}

func (l *lentReader) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}
