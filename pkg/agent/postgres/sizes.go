//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
)

const (
	// askSizes reads the size of every file, which may take long. The server gives it up by itself: who asked may be gone.
	askSizes = `SET statement_timeout = '30s';
SELECT (SELECT sum(pg_database_size(oid)) FROM pg_database), (SELECT sum(size) FROM pg_ls_waldir())`
	sizesTime = 35 * time.Second
	// sizesWait is how long an answer is waited for. One that comes later is told to who asks next.
	sizesWait = 300 * time.Millisecond
)

// errNoAnswer is told of what was asked and has no answer yet.
var errNoAnswer = errors.New("no answer yet")

// sizes is what one run of the server said of the size of its databases and of its log.
type sizes struct {
	run            *process.Process
	databases, log int64
	known          bool
	// err is why the last question failed.
	err error
	// asked ends when the question that is under way has its answer.
	asked chan struct{}
}

// measureSizes asks for the sizes, and returns the last that are known. An error says that they are of before, or not
// known.
func (s *Server) measureSizes(ctx context.Context) (sizes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizes.run != s.proc {
		s.sizes = sizes{run: s.proc}
	}
	if s.sizes.asked == nil {
		s.sizes.asked = make(chan struct{})
		go s.askSizes(context.WithoutCancel(ctx), s.sizes.run, s.sizes.asked)
	}
	asked := s.sizes.asked
	s.mu.Unlock()
	select {
	case <-asked:
	case <-ctx.Done():
	case <-time.After(sizesWait):
	}
	s.mu.Lock()
	got, err := s.sizes, s.sizes.err
	if err == nil && !got.known {
		err = errNoAnswer
	}
	return got, err
}

func (s *Server) askSizes(ctx context.Context, run *process.Process, asked chan struct{}) {
	defer close(asked)
	ctx, stop := context.WithTimeout(ctx, sizesTime)
	defer stop()
	databases, log, err := s.readSizes(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizes.run != run {
		return
	}
	if s.sizes.asked, s.sizes.err = nil, err; err == nil {
		s.sizes.databases, s.sizes.log, s.sizes.known = databases, log, true
	}
}

func (s *Server) readSizes(ctx context.Context) (databases, log int64, err error) {
	got, err := s.Once(ctx, askSizes)
	if err != nil {
		return 0, 0, err
	}
	row := got[1][0]
	databases, err = strconv.ParseInt(row[0], 10, 64)
	if err == nil {
		log, err = strconv.ParseInt(row[1], 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read the sizes that the server tells: %w", err)
	}
	return databases, log, nil
}
