package source

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// LSN is a place in the log of a source.
type LSN uint64

// String writes it as PostgreSQL does.
func (l LSN) String() string { return fmt.Sprintf("%X/%X", uint64(l)>>32, uint64(l)&(1<<32-1)) }

// ParseLSN reads what PostgreSQL writes.
func ParseLSN(text string) (LSN, error) {
	high, low, found := strings.Cut(text, "/")
	a, err := strconv.ParseUint(high, 16, 32)
	b, err2 := strconv.ParseUint(low, 16, 32)
	if !found || err != nil || err2 != nil {
		return 0, fmt.Errorf("%q is no place in a log", text)
	}
	return LSN(a<<32 | b), nil
}

// The messages of a server that replicates: see "Streaming Replication Protocol" in the manual of PostgreSQL.
const (
	queryMessage = 'Q'
	copyMessage  = 'd'
	// statusMessage begins the content of a message that says how much was written, flushed and applied.
	statusMessage = 'r'
	statusLength  = 1 + 8 + 8 + 8 + 8 + 1
	headLength    = 5
	// longest bounds the messages that are read: others pass as they are.
	longest = 4096
	// flushedAt is where a status says what is flushed: behind its kind and what is written.
	flushedAt = 1 + 8
)

// starts is the order to begin, with the slot that is read.
//
//nolint:gochecknoglobals // it never changes
var starts = regexp.MustCompile(`^START_REPLICATION SLOT "([^"]+)" LOGICAL`)

// confirming passes on what a server says to its source, but for one thing: it may not confirm more than is allowed.
// The source would forget the rest, which no other copy of the data may have.
type confirming struct {
	far net.Conn
	// writes is held while something is sent.
	writes sync.Mutex

	mu sync.Mutex
	// slot is read by this connection, "" before that.
	slot string
	// last is the last status, as the server sent it; nil before that.
	last []byte
	// flushed is what that says, allowed the most that the source is told of it, told what it was told last.
	flushed, allowed, told LSN
}

// pass passes messages on until there are no more.
func (c *confirming) pass(near io.Reader) error {
	head := make([]byte, headLength)
	for {
		if _, err := io.ReadFull(near, head); err != nil {
			return err
		}
		length := int64(binary.BigEndian.Uint32(head[1:])) - 4
		if length < 0 {
			return fmt.Errorf("a message of %d bytes", length)
		}
		if length > longest || head[0] != queryMessage && head[0] != copyMessage {
			if err := c.through(head, io.LimitReader(near, length)); err != nil {
				return err
			}
			continue
		}
		content := make([]byte, length)
		if _, err := io.ReadFull(near, content); err != nil {
			return err
		}
		if err := c.send(head, content); err != nil {
			return err
		}
	}
}

func (c *confirming) through(head []byte, content io.Reader) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	if _, err := c.far.Write(head); err != nil {
		return err
	}
	_, err := io.Copy(c.far, content)
	return err
}

func (c *confirming) send(head, content []byte) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	_, err := c.far.Write(append(append([]byte{}, head...), c.see(head[0], content)...))
	return err
}

// see learns from a message, and returns what of it the source may have.
func (c *confirming) see(kind byte, content []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case kind == queryMessage:
		if found := starts.FindSubmatch(content); found != nil {
			c.slot, c.last, c.flushed = string(found[1]), nil, 0
		}
	case len(content) == statusLength && content[0] == statusMessage:
		c.last, c.flushed = content, LSN(binary.BigEndian.Uint64(content[flushedAt:]))
		return c.status()
	}
	return content
}

// status is the last one, within what is allowed. A place of 0 confirms nothing.
func (c *confirming) status() []byte {
	out := append([]byte{}, c.last...)
	c.told = min(c.flushed, c.allowed)
	binary.BigEndian.PutUint64(out[flushedAt:], uint64(c.told))
	return out
}

// allow has the source told at once of what it may be told now.
func (c *confirming) allow(to LSN) error {
	c.writes.Lock()
	defer c.writes.Unlock()
	c.mu.Lock()
	c.allowed = max(c.allowed, to)
	if c.last == nil || min(c.flushed, c.allowed) <= c.told {
		c.mu.Unlock()
		return nil
	}
	content := c.status()
	c.mu.Unlock()
	content[statusLength-1] = 0 // no answer is asked for

	head := binary.BigEndian.AppendUint32([]byte{copyMessage}, uint32(len(content)+4)) //nolint:gosec // it is short
	_, err := c.far.Write(append(head, content...))
	return err
}

// Allow lets who reads a source by a bounded door confirm all up to a place. Nobody may confirm more until then.
func (d *Door) Allow(to LSN) {
	d.mu.Lock()
	d.allowed = max(d.allowed, to)
	all := slices.Collect(maps.Keys(d.bounded))
	d.mu.Unlock()
	for _, c := range all { // the door can be shut meanwhile
		if c.allow(to) != nil {
			_ = c.far.Close() // it is over
		}
	}
}

// Flushed is up to where each of some slots was read, and is on disk here; 0 as long as one is not read.
func (d *Door) Flushed(slots []string) LSN {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := map[string]LSN{}
	for c := range d.bounded {
		c.mu.Lock()
		of[c.slot] = max(of[c.slot], c.flushed)
		c.mu.Unlock()
	}
	var lowest LSN
	for i, slot := range slots {
		if i == 0 || of[slot] < lowest {
			lowest = of[slot]
		}
	}
	return lowest
}

// bound has a connection of a program pass by a confirming one, as long as the door leads to a source that is kept.
func (d *Door) bound(far net.Conn) *confirming {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.to == nil || !d.to.Kept {
		return nil
	}
	c := &confirming{far: far, allowed: d.allowed}
	d.bounded[c] = true
	return c
}

func (d *Door) unbound(c *confirming) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.bounded, c)
}
