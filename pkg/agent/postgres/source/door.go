package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

const (
	// enterTime bounds how long it takes until a session is passed on.
	enterTime = 10 * time.Second
	closeTime = time.Second
)

// Door is a Unix socket by which programs beside it reach the source. It logs in for them, so that no other program,
// and no file of a server, needs the password. Who may enter its directory may enter.
type Door struct {
	listener net.Listener

	mu sync.Mutex
	to *Source
	// within are the connections that are passed on, of both sides.
	within map[net.Conn]bool
	// bounded are those that may not confirm more than is allowed to a source that is kept.
	bounded map[*confirming]bool
	allowed LSN
}

// Listen makes a door that is shut.
func Listen(path string) (*Door, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen for who wants to reach the source: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for who wants to reach the source: %w", err)
	}
	d := &Door{listener: l, within: map[net.Conn]bool{}, bounded: map[*confirming]bool{}}
	go d.accept()
	return d, nil
}

// Open lets programs in, to one source. To one that is kept nothing is confirmed that Allow did not allow since the
// door was shut.
func (d *Door) Open(to Source) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = &to
}

// Shut ends all that was passed on, and lets nobody in.
func (d *Door) Shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to, d.allowed = nil, 0
	for c := range d.within {
		_ = c.Close() // it may be closed
	}
	clear(d.within)
}

// Close ends the socket.
func (d *Door) Close() error {
	d.Shut()
	return d.listener.Close()
}

func (d *Door) accept() {
	for {
		c, err := d.listener.Accept()
		if err != nil {
			return
		}
		go d.pass(c)
	}
}

// pass logs in at the source for a program, and then passes bytes both ways.
func (d *Door) pass(near net.Conn) {
	defer near.Close() //nolint:errcheck // it is over
	if near.SetDeadline(time.Now().Add(enterTime)) != nil {
		return
	}
	client := pgproto3.NewBackend(near, near)
	asked, err := client.ReceiveStartupMessage()
	startup, is := asked.(*pgproto3.StartupMessage)
	if err != nil || !is {
		return // a program that wants to encrypt or to cancel, which none does here
	}
	far, err := d.enter(startup)
	if err != nil {
		client.Send(refusal(err))
		_ = client.Flush() // it may be gone
		return
	}
	defer far.Conn.Close() //nolint:errcheck // it is over
	if !d.keep(near, far.Conn) {
		return
	}
	defer d.forget(near, far.Conn)
	client.Send(&pgproto3.AuthenticationOk{})
	for name, value := range far.ParameterStatuses {
		client.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	client.Send(&pgproto3.BackendKeyData{ProcessID: far.PID, SecretKey: far.SecretKey})
	client.Send(&pgproto3.ReadyForQuery{TxStatus: far.TxStatus})
	if client.Flush() != nil || near.SetDeadline(time.Time{}) != nil || far.Conn.SetDeadline(time.Time{}) != nil {
		return
	}
	ended := make(chan struct{}, 2)
	bounded := d.bound(far.Conn)
	defer d.unbound(bounded)
	go func() {
		if bounded != nil {
			_ = bounded.pass(near) // either side may end it
		} else {
			_, _ = io.Copy(far.Conn, near)
		}
		ended <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(near, far.Conn)
		ended <- struct{}{}
	}()
	<-ended
}

// enter logs in with the parameters of a program, but as the user of the source.
func (d *Door) enter(startup *pgproto3.StartupMessage) (*pgconn.HijackedConn, error) {
	d.mu.Lock()
	to := d.to
	d.mu.Unlock()
	if to == nil {
		return nil, errors.New("the source is not followed now")
	}
	parameters := maps.Clone(startup.Parameters)
	database := parameters["database"]
	delete(parameters, "database")
	delete(parameters, "user")
	ctx, stop := context.WithTimeout(context.Background(), enterTime)
	defer stop()
	conn, err := to.Connect(ctx, database, parameters)
	if err != nil {
		return nil, err
	}
	if err := conn.SyncConn(ctx); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn.Hijack()
}

// refusal says to a program why it does not reach the source.
func refusal(err error) *pgproto3.ErrorResponse {
	out := &pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "08001", Message: err.Error()}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		out.Code, out.Message = answer.Code, answer.Message
	}
	return out
}

// keep notes connections that end when the door is shut. It is false if that is so already.
func (d *Door) keep(conns ...net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.to == nil {
		return false
	}
	for _, c := range conns {
		d.within[c] = true
	}
	return true
}

func (d *Door) forget(conns ...net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range conns {
		delete(d.within, c)
	}
}
