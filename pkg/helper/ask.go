package helper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

const (
	pathAsk = "/work"
	// headerOperation names who asks.
	headerOperation = "Dbop-Operation"

	// NotAsked is what a helper leaves that ended because nobody asked it for its work.
	NotAsked = "nobody asked for it"
)

// ErrNotAsked: nobody asked a helper for its work in time.
var ErrNotAsked = errors.New(NotAsked)

// Standby is a helper that was started before its work is due, because to start it takes seconds.
type Standby struct {
	// Listen is a loopback address with port.
	Listen string
	// Within is how long it waits to be asked.
	Within time.Duration
}

// Run waits until Ask names an operation, and then does the work for it, once. ErrNotAsked if nobody asks in time: then
// nothing was done.
func (s Standby) Run(ctx context.Context, work func(ctx context.Context, operation string) error) error {
	l, err := listen(ctx, s.Listen)
	if err != nil {
		return err
	}
	return s.Serve(ctx, l, work)
}

// Serve is Run on l, which it closes.
func (s Standby) Serve(ctx context.Context, l net.Listener, work func(context.Context, string) error) error {
	serving, done := context.WithCancel(ctx)
	o := order{given: make(chan string, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+repository.PathHealth, healthy)
	mux.HandleFunc("PUT "+pathAsk, func(w http.ResponseWriter, req *http.Request) {
		if err := o.give(req.Header.Get(headerOperation)); err != nil {
			loadFaults().Refuse(w, err)
			return
		}
		wire.Answer(w, http.StatusOK, struct{}{})
	})
	served := make(chan error, 1)
	go func() { served <- serve(serving, l, mux) }()
	err := s.wait(ctx, &o, work)
	done()
	return errors.Join(err, <-served)
}

func (s Standby) wait(ctx context.Context, o *order, work func(context.Context, string) error) error {
	late := time.NewTimer(s.Within)
	defer late.Stop()
	select {
	case operation := <-o.given:
		return work(ctx, operation)
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		if !o.close() {
			return work(ctx, <-o.given) // somebody was told that it is done
		}
		return fmt.Errorf("wait for work: %w in %s", ErrNotAsked, s.Within)
	}
}

// order is what a helper is asked for. The first who asks counts.
type order struct {
	mu        sync.Mutex
	operation string
	closed    bool
	given     chan string
}

func (o *order) give(operation string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case operation == "" || o.closed:
		return fmt.Errorf("ask for work: %w: it takes an operation, in time", repository.ErrRequest)
	case o.operation == operation:
		return nil
	case o.operation != "":
		return fmt.Errorf("ask for work: %w: for operation %.80q", ErrLoading, o.operation)
	}
	o.operation = operation
	o.given <- operation
	return nil
}

// close takes no order any more. It returns false if one was taken.
func (o *order) close() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.operation == ""
}

// Ask has a Standby do its work for an operation. It returns once that begins, or was started before; ErrLoading if it
// works for another operation. A repeat does no harm.
func Ask(ctx context.Context, dial func(context.Context) (net.Conn, error), operation string) error {
	client := wire.NewClient(dial)
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, receiverURL+pathAsk, nil)
	if err != nil {
		return fmt.Errorf("ask a helper for its work: %w", err)
	}
	req.Header.Set(headerOperation, operation)
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask a helper for its work: %w", err)
	}
	if err := loadFaults().Check(resp); err != nil {
		return fmt.Errorf("ask a helper for its work: %w", err)
	}
	return resp.Body.Close()
}
