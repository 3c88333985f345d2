//go:build linux

package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/certificate"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/service"
)

// config is what an agent is started with: a file, or an environment variable. It holds no secret, but names files that
// do.
type config struct {
	Member protocol.MemberID `json:"member"`
	// Token identifies the incarnation.
	Token string `json:"token"`
	// Directory is the volume, Sockets a short path on the machine's own disk.
	Directory string `json:"directory"`
	Sockets   string `json:"sockets"`
	// Listen is where other agents connect to, Address where they are: "{member}" is replaced by the name. Peers are
	// exceptions.
	Listen  string                       `json:"listen"`
	Address string                       `json:"address,omitempty"`
	Peers   map[protocol.MemberID]string `json:"peers,omitempty"`
	// Identity proves this member to other agents.
	Identity certificate.Files `json:"identity"`
	// API is where the tool connects to. Its authority signed the tool's certificates. Users are the names in those
	// that may: the same authority may have signed those of applications. Without any, everybody may.
	API struct {
		Listen string   `json:"listen"`
		Users  []string `json:"users,omitempty"`
		certificate.Files
	} `json:"api"`
	// Proxy passes clients of any member to the right server. Listen takes those of the primary, ReadOnly those that a
	// replica may serve. Address is where the servers of the members are, Peers are exceptions.
	Proxy struct {
		Listen   string                       `json:"listen,omitempty"`
		ReadOnly string                       `json:"readOnly,omitempty"`
		Address  string                       `json:"address,omitempty"`
		Peers    map[protocol.MemberID]string `json:"peers,omitempty"`
	} `json:"proxy"`
	// Service is the Kubernetes service that leads clients straight to the primary; none if the proxies of all members do.
	Service *service.Service `json:"service,omitempty"`
	// Sentinel answers clients that know Redis or Valkey Sentinel, if it is set.
	Sentinel *sentinelConfig `json:"sentinel,omitempty"`
	// Health is where the kubelet asks whether this member lives and may serve, without TLS. Empty is nowhere.
	Health struct {
		Listen string `json:"listen"`
	} `json:"health"`
	// InitialMembers are set at the first members, alike at all of them, as are Settings.
	InitialMembers []protocol.InitialMember `json:"initialMembers,omitempty"`
	Settings       protocol.Settings        `json:"settings"`
	// Source is set at the first members of a cluster that begins as the copy of another server, alike at all of them.
	Source *protocol.Source `json:"source,omitempty"`
	// SourceSecret is a directory with what that server asks for.
	SourceSecret string `json:"sourceSecret,omitempty"`
	// Alone is for a throw-away copy that nobody but its own pod reaches: it needs no certificates, and answers the tool
	// without.
	Alone bool `json:"alone,omitempty"`
	// Ballast is how many bytes are kept free for the group on a full disk; 64 MB by default.
	Ballast int64 `json:"ballast,omitempty"`
	// Postgres says which server runs beside the agent. A witness has none.
	Postgres *postgresConfig `json:"postgres,omitempty"`
	// Valkey is Valkey or Redis.
	Valkey *valkeyConfig `json:"valkey,omitempty"`
}

// servers counts the servers that are configured.
func (c config) servers() (n int) {
	if c.Postgres != nil {
		n++
	}
	if c.Valkey != nil {
		n++
	}
	return n
}

type valkeyConfig struct {
	// Program is valkey-server or redis-server, Listen the addresses for clients, in the form of the setting bind.
	Program string `json:"program"`
	Listen  string `json:"listen"`
	Port    int    `json:"port"`
	// Users is a file of ACL rules with hashes of passwords.
	Users string `json:"users,omitempty"`
	// Clients speak TLS if a certificate is named.
	certificate.Files
}

type postgresConfig struct {
	// Bin holds the programs, Listen the addresses for clients.
	Bin    string `json:"bin"`
	Listen string `json:"listen"`
	Port   int    `json:"port"`
	// Clients speak TLS if a certificate is named.
	certificate.Files
}

// readConfig reads the configuration from an environment variable if one is named, else from a file.
func readConfig(path, variable string) (config, error) {
	if variable == "" {
		raw, err := os.ReadFile(path) //nolint:gosec // the caller names it
		if err != nil {
			return config{}, fmt.Errorf("read the configuration: %w", err)
		}
		return parseConfig(raw, path)
	}
	raw, set := os.LookupEnv(variable)
	if !set {
		return config{}, fmt.Errorf("read the configuration: the environment variable %s is not set", variable)
	}
	return parseConfig([]byte(raw), "the environment variable "+variable)
}

func parseConfig(raw []byte, from string) (config, error) {
	var c config
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("read the configuration in %s: %w", from, err)
	}
	if c.Ballast == 0 {
		c.Ballast = 64 << 20
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("read the configuration in %s: %w", from, err)
	}
	return c, nil
}

func (c config) check() error {
	for _, f := range []struct{ name, value string }{
		{"member", string(c.Member)},
		{"token", c.Token},
		{"directory", c.Directory},
		{"sockets", c.Sockets},
		{"listen", c.Listen},
		{"api.listen", c.API.Listen},
	} {
		if f.value == "" {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	if len(c.Member) > 52 || strings.ContainsAny(string(c.Member), "/\\ '\"") {
		return fmt.Errorf("%q is no name of a member", c.Member)
	}
	if p := c.Proxy; p.Listen+p.ReadOnly != "" && p.Address == "" && len(p.Peers) == 0 {
		return errors.New("proxy.address is missing")
	}
	if a := c.Sentinel; a != nil && (a.Name == "" || a.Listen == "" || a.Address == "" && len(a.Peers) == 0) {
		return errors.New("sentinel needs name, listen and address")
	}
	if c.Service != nil {
		if err := c.Service.Check(); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(c.InitialMembers, func(m protocol.InitialMember) bool { return m.ID == c.Member })
	if len(c.InitialMembers) > 0 {
		if i < 0 {
			return fmt.Errorf("%s is not among the initial members", c.Member)
		}
		if err := c.Settings.Check(); err != nil {
			return err
		}
	}
	if c.Source != nil && c.Source.Address == "" {
		return errors.New("source needs an address")
	}
	if err := c.checkAlone(); err != nil {
		return err
	}
	if c.servers() > 1 {
		return errors.New("an agent runs one server: name postgres or valkey")
	}
	if witness := i >= 0 && c.InitialMembers[i].Witness; witness == (c.servers() > 0) && i >= 0 {
		return errors.New("a witness has no server, and every other member has one")
	}
	return nil
}

// found returns the entry that the first members propose, or nil.
func (c config) found() *protocol.Found {
	if len(c.InitialMembers) == 0 {
		return nil
	}
	return &protocol.Found{Token: c.Token, InitialMembers: c.InitialMembers, Settings: c.Settings,
		Source: c.Source}
}

// voters are the first voters: of an even number of members the last has none.
func (c config) voters() (ids []protocol.MemberID) {
	data, witnesses := 0, 0
	for _, m := range c.InitialMembers {
		if m.Witness {
			witnesses++
		} else {
			data++
		}
	}
	for _, witness := range []bool{false, true} {
		for _, m := range c.InitialMembers {
			if m.Witness == witness && len(ids) < protocol.TargetVoters(data, witnesses) {
				ids = append(ids, m.ID)
			}
		}
	}
	return ids
}

func (c config) address(id protocol.MemberID) string { return addressOf(id, c.Address, c.Peers) }

// serverAddress is where the database server of a member listens for clients.
func (c config) serverAddress(id protocol.MemberID) string {
	if id == c.Member && c.Postgres != nil {
		return net.JoinHostPort("localhost", strconv.Itoa(c.Postgres.Port))
	}
	return addressOf(id, c.Proxy.Address, c.Proxy.Peers)
}

func addressOf(id protocol.MemberID, pattern string, exceptions map[protocol.MemberID]string) string {
	if a, ok := exceptions[id]; ok {
		return a
	}
	return strings.ReplaceAll(pattern, "{member}", string(id))
}

// admits refuses who proves to be somebody else than the tool.
func (c config) admits(state tls.ConnectionState) error {
	name := state.PeerCertificates[0].Subject.CommonName
	if len(c.API.Users) > 0 && !slices.Contains(c.API.Users, name) {
		return fmt.Errorf("%q may not ask this agent", name)
	}
	return nil
}
