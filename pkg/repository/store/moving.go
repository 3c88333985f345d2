package store

import (
	"context"
	"net"
	"time"
)

// stillAfter is how long a connection may move nothing, there or back, while something is to be read or written: a
// network can vanish without a word.
const stillAfter = 2 * time.Minute

// Dial makes a connection.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Moving bounds how long the connections of a client stand still, and not how long a request takes.
func Moving(dial Dial) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return movingConn{c}, nil
	}
}

// movingConn has one deadline for both ways: an answer is read while its request is written.
type movingConn struct{ net.Conn }

func (c movingConn) Read(b []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(stillAfter)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c movingConn) Write(b []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(stillAfter)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
