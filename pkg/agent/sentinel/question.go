package sentinel

import (
	"crypto/sha1" //nolint:gosec // it is a name, as long as those of servers
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

const (
	errName resp.Error = "ERR No such master with that name"
	errLost resp.Error = "TRYAGAIN this agent has heard of no primary for the time of a lease: ask another one"
	errVerb resp.Error = "ERR the agents agree on the primary by themselves: change it by kubectl dbop switchover"
)

// sentinel answers the questions of SENTINEL.
func (c *session) sentinel(args []string) any {
	if len(args) == 0 {
		return errSyntax
	}
	s := c.server
	command, name := strings.ToLower(args[0]), ""
	switch command {
	case "myid":
		return identifier("agent", s.config.Member)
	case "masters":
	case "get-master-addr-by-name", "master", "replicas", "slaves", "sentinels", "ckquorum":
		if len(args) != 2 {
			return errSyntax
		}
		if name = args[1]; name != s.config.Name && command == "get-master-addr-by-name" {
			return nil
		}
		if name != s.config.Name {
			return errName
		}
	case "failover", "monitor", "remove", "set", "reset", "flushconfig", "config":
		return errVerb
	default:
		return resp.Error("ERR unknown subcommand of SENTINEL")
	}
	r, known := s.now()
	if !known {
		return errLost
	}
	members := s.config.Members()
	switch command {
	case "get-master-addr-by-name":
		host, port := split(s.config.Server(r.Primary))
		return resp.List{host, port}
	case "master":
		return s.primary(r, members)
	case "masters":
		return resp.List{s.primary(r, members)}
	case "ckquorum":
		return resp.Simple(fmt.Sprintf("OK %d usable Sentinels. The agents agree on a primary.", len(members)))
	}
	all := resp.List{}
	for _, id := range members {
		switch {
		case command == "sentinels" && id != s.config.Member:
			all = append(all, append(instance("agent", id, s.config.Agent(id), "sentinel"), "voted-leader", "?"))
		case command != "sentinels" && id != r.Primary:
			all = append(all, s.replica(r, id))
		}
	}
	return all
}

func (s *Server) primary(r protocol.Route, members []protocol.MemberID) resp.Map {
	answer := instance("server", r.Primary, s.config.Server(r.Primary), "master")
	answer[1] = s.config.Name
	return append(answer, "num-slaves", strconv.Itoa(len(members)-1),
		"num-other-sentinels", strconv.Itoa(len(members)-1), "quorum", strconv.Itoa(len(members)/2+1))
}

// replica says that one which does not stream is down, so that nobody reads there.
func (s *Server) replica(r protocol.Route, id protocol.MemberID) resp.Map {
	flags, link := "slave,s_down,disconnected", "err"
	for _, streams := range r.Replicas {
		if streams == id {
			flags, link = "slave", "ok"
		}
	}
	host, port := split(s.config.Server(r.Primary))
	return append(instance("server", id, s.config.Server(id), flags), "master-link-status", link, "master-host", host,
		"master-port", port, "slave-priority", "100", "replica-announced", "1")
}

// instance is what is said of all that Sentinel watches.
func instance(kind string, id protocol.MemberID, address, flags string) resp.Map {
	host, port := split(address)
	return resp.Map{"name", address, "ip", host, "port", port, "runid", identifier(kind, id), "flags", flags,
		"link-refcount", "1", "last-ping-sent", "0", "last-ok-ping-reply", "0", "last-ping-reply", "0"}
}

func identifier(kind string, id protocol.MemberID) string {
	sum := sha1.Sum([]byte(kind + " " + string(id))) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

func (c *session) info() string {
	s := c.server
	text := "# Server\r\nredis_version:" + shownVersion + "\r\nredis_mode:sentinel\r\n\r\n# Sentinel\r\n"
	r, known := s.now()
	if !known {
		return text + "sentinel_masters:0\r\n"
	}
	others := len(s.config.Members())
	return text + fmt.Sprintf("sentinel_masters:1\r\nmaster0:name=%s,status=ok,address=%s,slaves=%d,sentinels=%d\r\n",
		s.config.Name, s.config.Server(r.Primary), others-1, others)
}
