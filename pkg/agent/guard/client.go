//go:build linux

package guard

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Client is the agent's side.
type Client struct {
	pid   int
	guard io.ReadWriter
	// parent asks for the process that this one is below at the moment.
	parent func() int

	mu sync.Mutex
	// kept is the deadline that the guard keeps; 0 is none.
	kept protocol.Instant
	// answers come one for each deadline; gone is closed when the guard is.
	answers chan string
	gone    chan struct{}
}

// pidVariable names the guard to the agent. The parent of the agent says that too, but not of a guard that ended before
// it was asked: that would be the first process of the machine, and all others would be below it.
const pidVariable = "DBOP_GUARD_PID"

// nobody is the number of no process.
const nobody = -1

// Dial returns the connection to the guard that started this process.
func Dial() *Client { return newClient(guardPID(), os.NewFile(3, "guard")) }

// guardPID is the number of the guard that started this process, or nobody.
func guardPID() int {
	pid, err := strconv.Atoi(os.Getenv(pidVariable))
	if err != nil {
		return nobody
	}
	return pid
}

func newClient(pid int, guard io.ReadWriter) *Client {
	c := &Client{pid: pid, guard: guard, parent: os.Getppid, answers: make(chan string, 1), gone: make(chan struct{})}
	go func() {
		defer close(c.gone)
		for lines := bufio.NewScanner(guard); lines.Scan(); {
			c.answers <- lines.Text()
		}
	}()
	return c
}

// Gone is closed when the guard is gone: nobody keeps a deadline then.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Others returns the processes below the guard, besides this one: the server's, and tools'. Without a guard it returns
// those below this one.
func (c *Client) Others() []int {
	if c.parent() == c.pid {
		all := descendants(c.pid)
		// A guard that ends closes its files first, and gives its children away later. Had that happened meanwhile,
		// nothing would be below the guard, although the server runs.
		if c.parent() == c.pid {
			return slices.DeleteFunc(all, func(pid int) bool { return pid == os.Getpid() })
		}
	}
	return descendants(os.Getpid())
}

// killTime is how long before the deadline the agent stops waiting for its guard: it ends the server itself then. A
// guard has half of it at least for an answer.
const killTime = time.Second

// Set returns once the guard keeps the deadline. A guard that does not answer until shortly before the deadline that it
// keeps, or before this one if it keeps none, is taken for one that hangs: the agent must kill the server, and end.
func (c *Client) Set(d protocol.SetDeadline) error {
	word := "deadline " + strconv.FormatInt(int64(d.At), 10)
	if d.Unlimited {
		word = "disarm"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := Now()
	until := cmp.Or(c.kept, d.At)
	if until != 0 {
		until = max(until.Add(-killTime), now.Add(killTime/2))
	}
	if _, err := io.WriteString(c.guard, word+"\n"); err != nil {
		return fmt.Errorf("tell the guard the deadline: %w", err)
	}
	for {
		wait := clockInterval
		if until != 0 {
			wait = min(wait, until.Sub(now))
		}
		select {
		case <-c.answers:
			if c.kept = d.At; d.Unlimited {
				c.kept = 0
			}
			return nil
		case <-c.gone:
			return errors.New("tell the guard the deadline: the guard is gone")
		case <-time.After(wait):
			if now = Now(); until != 0 && now >= until {
				return errors.New("tell the guard the deadline: the guard does not answer, and the one that it keeps is near")
			}
		}
	}
}
