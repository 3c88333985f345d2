package helper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// Collector archives the log of a cluster: it reads files from members that keep them, appends each to an archive, and
// has the members let it go only then.
type Collector struct {
	Source engine.LogSource
	Log    *archive.Log
	// Every is how long it waits after a round.
	Every time.Duration
	// Report takes what a person should know.
	Report func(error)

	// sums are those of the files that the archive has, by name.
	sums map[string]string
}

const (
	// collectTimeout bounds a round; what it did not finish is for the next one.
	collectTimeout = 5 * time.Minute
	// collectParallel is how many files are on their way at once.
	collectParallel = 4
	// collectPatience is how long nothing may succeed before it gives up: longer than a failover.
	collectPatience = 30 * time.Second
)

// Run collects until the context is done. What fails is tried again, but not for ever where nothing succeeds:
// certificates and keys may have been renewed, which only who made it can read again. A member that is away for long
// is no such failure. Where the archive has other bytes than the primary it ends at once, with archive.ErrConflict:
// that is another history, and what follows here must not go on from it.
func (c *Collector) Run(ctx context.Context) error {
	last := time.Now()
	for {
		progress, err := c.Round(ctx)
		if progress {
			last = time.Now()
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it was asked to end
		case errors.Is(err, archive.ErrConflict), !progress && time.Since(last) >= collectPatience:
			return err
		case err != nil:
			c.Report(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(c.Every):
		}
	}
}

// Round archives what waits now. Progress says that members were asked, and that a file was archived if any waits: with
// an error too, which then tells of another member or file.
func (c *Collector) Round(ctx context.Context) (progress bool, err error) {
	ctx, stop := context.WithTimeout(ctx, collectTimeout)
	defer stop()
	if err := c.learn(ctx); err != nil {
		return false, err
	}
	waiting, failed := c.Source.WaitingLog(ctx)
	sums, errs := c.archiveAll(ctx, waiting)
	progress = waiting != nil && len(waiting) == 0
	for i, w := range waiting {
		if errs[i] == nil {
			c.sums[w.Name], progress = sums[i], true
		}
	}
	return progress, errors.Join(failed, errors.Join(errs...))
}

// archiveAll archives several at once, but the oldest one alone: where two clusters archive in one place, the second
// meets a file of the first there, and nothing of what follows it gets between those.
func (c *Collector) archiveAll(ctx context.Context, waiting []engine.WaitingLog) (sums []string, errs []error) {
	sums, errs = make([]string, len(waiting)), make([]error, len(waiting))
	var group errgroup.Group
	var conflict atomic.Bool
	group.SetLimit(collectParallel)
	for i, w := range waiting {
		if i == 1 {
			_ = group.Wait() // each has an error of its own
		}
		group.Go(func() error {
			if conflict.Load() {
				errs[i] = fmt.Errorf("file %s of the log waits for those before it", w.Name)
				return nil
			}
			sums[i], errs[i] = c.archive(ctx, w)
			if errors.Is(errs[i], archive.ErrConflict) {
				if !w.Primary { // that member differs from the others, and the archive needs nothing of it
					errs[i] = fmt.Errorf("only replicas keep it: %v", errs[i]) //nolint:errorlint // it is no conflict
					return nil
				}
				conflict.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait()
	return sums, errs
}

// learn lists the archive once.
func (c *Collector) learn(ctx context.Context) error {
	if c.sums != nil {
		return nil
	}
	all, err := c.Log.Segments(ctx)
	if err != nil {
		return fmt.Errorf("list the archived log: %w", err)
	}
	c.sums = map[string]string{}
	for _, s := range all {
		c.sums[s.Name] = s.Sum()
	}
	return nil
}

// archive makes one file durable, unless it is, and lets its members go on. It returns the file's checksum.
func (c *Collector) archive(ctx context.Context, w engine.WaitingLog) (string, error) {
	if sum, done := c.sums[w.Name]; done {
		err := c.Source.ConfirmLog(ctx, w, sum)
		if err != nil {
			err = c.compare(ctx, w, sum, err)
		}
		return sum, err
	}
	f, body, err := c.Source.ReadLog(ctx, w)
	if err != nil {
		return "", err
	}
	at := f.Time
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	if err := c.Log.Append(ctx, archive.Segment{Timeline: f.Timeline, Name: f.Name, Start: f.Start, End: f.End,
		Time: at}, body); err != nil {
		return "", err
	}
	sum := sumOf(body)
	return sum, c.Source.ConfirmLog(ctx, w, sum)
}

// compare says whether a file was not let go because the archive has another history.
func (c *Collector) compare(ctx context.Context, w engine.WaitingLog, sum string, refused error) error {
	_, body, err := c.Source.ReadLog(ctx, w)
	if err != nil || strings.HasPrefix(sumOf(body), sum) {
		return refused
	}
	return fmt.Errorf("%w: %s: %w", archive.ErrConflict, w.Name, refused)
}

func sumOf(body []byte) string {
	digest := sha256.Sum256(body)
	return hex.EncodeToString(digest[:])
}
