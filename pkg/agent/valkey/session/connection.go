package session

import (
	"context"
	"errors"
	"sync"
)

// Connection is one session that is opened when it is needed, and again after an error. Many may use it at a time.
type Connection struct {
	// Open enters.
	Open func(context.Context) (*Session, error)

	mu      sync.Mutex
	session *Session
}

// Do is that of a session. An error of Open is returned as it is.
func (c *Connection) Do(ctx context.Context, args ...string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		s, err := c.Open(ctx)
		if err != nil {
			return "", err
		}
		c.session = s
	}
	answer, err := c.session.Do(ctx, args...)
	var answered AnswerError
	if err != nil && !errors.As(err, &answered) {
		c.drop()
	}
	return answer, err
}

func (c *Connection) drop() {
	if c.session != nil {
		_ = c.session.Close() // it may be broken
		c.session = nil
	}
}

// Close ends the session. The next Do opens another.
func (c *Connection) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}
