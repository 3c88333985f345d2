package sentinel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

const (
	errNoAuth  resp.Error = "NOAUTH Authentication required."
	errHello   resp.Error = "NOAUTH HELLO must be called with AUTH, or by a client that has proved who it is"
	errWrong   resp.Error = "WRONGPASS invalid username-password pair or user is disabled."
	errVersion resp.Error = "NOPROTO unsupported protocol version"
	errSyntax  resp.Error = "ERR syntax error"
	ok                    = resp.Simple("OK")
)

// answer does one command. A command about channels has an answer for each.
func (c *session) answer(args []string) []any {
	command, args := strings.ToUpper(args[0]), args[1:]
	one := func(a any) []any { return []any{a} }
	switch command {
	case "AUTH":
		return one(c.auth(args))
	case "HELLO":
		return one(c.hello(args))
	case "QUIT":
		c.quit = true
		return one(ok)
	}
	if c.user == "" {
		return one(errNoAuth)
	}
	switch command {
	case "PING":
		return one(c.ping(args))
	case "CLIENT":
		return one(c.client(args))
	case "SENTINEL":
		return one(c.sentinel(args))
	case "INFO":
		return one(c.info())
	case "ROLE":
		return one(resp.List{"sentinel", resp.List{c.server.config.Name}})
	case "COMMAND":
		return one(resp.List{})
	case "SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE":
		return c.subscribe(strings.ToLower(command), args)
	}
	return one(resp.Error(fmt.Sprintf("ERR unknown command '%.32s': the agent of a member answers the questions of "+
		"Sentinel's clients alone", printable(command))))
}

// printable keeps a word of a client from ending a line.
func printable(word string) string { return strings.Trim(strconv.QuoteToASCII(word), `"`) }

func (c *session) auth(args []string) any {
	user := "default"
	switch len(args) {
	case 1:
	case 2:
		user, args = args[0], args[1:]
	default:
		return errSyntax
	}
	if !c.server.config.Allows(user, args[0]) {
		return errWrong
	}
	c.user = user
	return ok
}

// hello takes "VERSION AUTH user password SETNAME name" or a part of it.
func (c *session) hello(args []string) any {
	version := 0
	if len(args) > 0 {
		if args[0] != "2" && args[0] != "3" {
			return errVersion
		}
		version, _ = strconv.Atoi(args[0])
		args = args[1:]
	}
	name := c.name
	for len(args) > 0 {
		switch word := strings.ToUpper(args[0]); {
		case word == "AUTH" && len(args) > 2:
			if said := c.auth(args[1:3]); said != ok {
				return said
			}
			args = args[3:]
		case word == "SETNAME" && len(args) > 1:
			name, args = args[1], args[2:]
		default:
			return errSyntax
		}
	}
	if c.user == "" {
		return errHello
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name = name; version > 0 {
		c.version = version
	}
	return resp.Map{"server", "redis", "version", shownVersion, "proto", c.version, "id", c.id, "mode", "sentinel",
		"role", "sentinel", "modules", resp.List{}}
}

// shownVersion is what clients may ask of Sentinel here: what that release knows.
const shownVersion = "7.0.0"

func (c *session) ping(args []string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	message := strings.Join(args, " ")
	switch {
	case c.version == 2 && len(c.channels)+len(c.patterns) > 0:
		return resp.List{"pong", message}
	case message != "":
		return message
	}
	return resp.Simple("PONG")
}

func (c *session) client(args []string) any {
	if len(args) == 0 {
		return errSyntax
	}
	switch strings.ToUpper(args[0]) {
	case "SETNAME":
		if len(args) != 2 {
			return errSyntax
		}
		c.name = args[1]
		return ok
	case "GETNAME":
		return c.name
	case "ID":
		return c.id
	case "SETINFO", "REPLY", "NO-EVICT", "NO-TOUCH":
		return ok
	}
	return resp.Error("ERR unknown subcommand of CLIENT")
}

func (c *session) subscribe(command string, channels []string) (answers []any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.channels
	if strings.HasPrefix(command, "p") {
		of = c.patterns
	}
	removes := strings.Contains(command, "unsub")
	if removes && len(channels) == 0 {
		for name := range of {
			channels = append(channels, name)
		}
		slices.Sort(channels)
	}
	for _, name := range channels {
		if removes {
			delete(of, name)
		} else if len(of) < mostWaiting {
			of[name] = true
		}
		answers = append(answers, resp.Push{command, name, len(c.channels) + len(c.patterns)})
	}
	if len(answers) == 0 {
		answers = append(answers, resp.Push{command, "", len(c.channels) + len(c.patterns)})
	}
	return answers
}
