//go:build linux

package valkey

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/acl"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/session"
)

// library is a library of functions that holds the users which the tool makes. The server replicates and keeps it with
// the data, and FLUSHALL leaves it. Only the agent and administrators may change or read libraries.
const library = "dbop_users"

// account is a user as the library holds it.
type account struct {
	// Hash is that of the password.
	Hash   string      `json:"hash"`
	Admin  bool        `json:"admin,omitempty"`
	Role   string      `json:"role,omitempty"`
	Grants []api.Grant `json:"grants,omitempty"`
}

const (
	// applications is what a user of an application may call: everything but what is for administrators, besides some
	// that many clients call.
	applications = "+@all -@admin -@dangerous +info +sort +client|setname"
	// names tell the names of all keys, whatever keys a user may read: patterns bind arguments alone
	// (https://valkey.io/topics/acl/). SCAN does so, too, and applications do not go without it.
	names, noNames = "+keys", "-randomkey"
)

// rule returns the ACL rule of a user.
func (a account) rule(p product, name string) string {
	words := []string{"user", name, "on", a.Hash}
	if a.Admin {
		return strings.Join(append(words, "~* &* +@all"), " ")
	}
	for _, g := range a.Grants {
		pattern := session.Escape(g.Name) + "*"
		if g.ReadOnly {
			words = append(words, "%R~"+pattern)
		} else {
			words = append(words, "~"+pattern, "&"+pattern)
		}
	}
	words = append(words, applications)
	if slices.ContainsFunc(a.Grants, func(g api.Grant) bool { return g.Name != "" }) {
		words = append(words, noNames)
	} else {
		words = append(words, names)
	}
	if p.valkey || !strings.HasPrefix(p.release, "7.0.") { // Redis knows it since 7.2
		words = append(words, "+client|setinfo")
	}
	return strings.Join(words, " ")
}

// equal says whether two accounts may do the same with the same password.
func (a account) equal(b account) bool {
	return a.Hash == b.Hash && a.Admin == b.Admin && slices.Equal(a.Grants, b.Grants)
}

// accountRules returns the rules of all users that the tool made, in order.
func accountRules(p product, all map[string]account) (rules []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		end := others
		if all[name].Admin {
			end = administrators
		}
		rules = append(rules, all[name].rule(p, name)+end)
	}
	return rules
}

// readAccounts asks the server for the library. No library is no user.
func (s *Server) readAccounts(ctx context.Context) (map[string]account, error) {
	code, err := s.ask(ctx, "FUNCTION", "LIST", "LIBRARYNAME", library, "WITHCODE")
	if err != nil {
		return nil, fmt.Errorf("read the users: %w", err)
	}
	s.mu.Lock()
	held, elsewhere, replica := maps.Clone(s.accounts), s.identity.Source, s.promoted == 0 && !s.making
	s.mu.Unlock()
	if code == "" && elsewhere && held != nil { // the data of a source holds no users of this cluster
		return held, nil
	}
	if code != "" && elsewhere && replica { // they came with the stream
		if err := s.ownData(ctx); err != nil {
			return nil, err
		}
	}
	all := map[string]account{}
	for line := range strings.Lines(code) {
		if content, found := strings.CutPrefix(line, "--{"); found {
			if err := json.Unmarshal([]byte("{"+content), &all); err != nil {
				return nil, fmt.Errorf("read the users: %w", err)
			}
		}
	}
	return all, nil
}

// confirmTime bounds the wait until replicas hold a change of users.
const confirmTime = 5000

// changeAccounts writes the library, waits until as many replicas hold it as must acknowledge a write, and has the
// server take it.
func (s *Server) changeAccounts(ctx context.Context, what string, change func(map[string]account)) error {
	all, err := s.readAccounts(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	before := maps.Clone(all)
	change(all)
	if maps.EqualFunc(before, all, func(a, b account) bool { return a.equal(b) && a.Role == b.Role }) {
		return nil
	}
	if s.follows() {
		if err := s.keepAccounts(all); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return s.takeUsers(ctx)
	}
	return s.writeAccounts(ctx, what, all)
}

// writeAccounts writes the library as changeAccounts does.
func (s *Server) writeAccounts(ctx context.Context, what string, all map[string]account) error {
	content, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	c, err := s.enter(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer c.Close() //nolint:errcheck // all was read
	code := "#!lua name=" + library + "\n--" + string(content) + "\nredis.register_function('" + library +
		"', function() return 0 end)\n"
	if _, err := c.Do(ctx, "FUNCTION", "LOAD", "REPLACE", code); err != nil {
		if isAnswered(err) {
			return api.Refused{Why: what + ": " + err.Error()}
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	s.mu.Lock()
	need := s.need
	s.mu.Unlock()
	held, err := c.Do(ctx, "WAIT", strconv.Itoa(need), strconv.Itoa(confirmTime))
	if n, _ := strconv.Atoi(held); err == nil && n < need {
		err = fmt.Errorf("%s replicas of %d hold it: %w", held, need, api.ErrUnknown)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.takeUsers(ctx)
}

// Users lists who may log in, without the agent's own users and those of the file of users.
func (s *Server) Users(ctx context.Context) (out []api.User, err error) {
	all, err := s.readAccounts(ctx)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a := all[name]
		out = append(out, api.User{Name: name, Admin: a.Admin, Role: a.Role, Grants: a.Grants})
	}
	return out, err
}

// HasUser implements api.UserJudge.
func (s *Server) HasUser(ctx context.Context, u api.User) (bool, error) {
	all, err := s.readAccounts(ctx)
	is, there := all[u.Name]
	return err == nil && there && is.equal(account{Hash: is.Hash, Admin: u.Admin, Role: u.Role, Grants: u.Grants}), err
}

// EnsureUser makes a user. A grant without a name is all data; another one is a prefix of keys and channels.
func (s *Server) EnsureUser(ctx context.Context, u api.NewUser) error {
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`).MatchString(u.Name) || u.Name == "default" ||
		strings.HasPrefix(u.Name, agentUser) {
		return api.Refused{Why: fmt.Sprintf("%q is no name for a user: it has letters, digits, points, hyphens, and does "+
			"not begin with %s", u.Name, agentUser)}
	}
	for _, g := range u.Grants {
		if strings.ContainsAny(g.Name, " \t\r\n\x00") {
			return api.Refused{Why: fmt.Sprintf("the prefix %q has a space", g.Name)}
		}
	}
	return s.changeAccounts(ctx, "make user "+u.Name, func(all map[string]account) {
		all[u.Name] = account{Hash: acl.Hash(u.Password), Admin: u.Admin, Role: u.Role, Grants: u.Grants}
	})
}

// DeleteUser removes a user, and ends its sessions.
func (s *Server) DeleteUser(ctx context.Context, name string) error {
	return s.changeAccounts(ctx, "delete user "+name, func(all map[string]account) { delete(all, name) })
}

// TestLogin comes the way that clients come: by TCP, with TLS where that is on. A replica may not have taken yet what
// it received.
func (s *Server) TestLogin(ctx context.Context, name, password string) (bool, error) {
	if err := s.takeUsers(ctx); err != nil {
		return false, fmt.Errorf("log in as %s: %w", name, err)
	}
	conn, err := s.dialAsClient(ctx)
	if err != nil {
		return false, fmt.Errorf("log in as %s: %w", name, err)
	}
	defer conn.Close() //nolint:errcheck // all was read
	_, err = conn.Do(ctx, "AUTH", name, password)
	var answered session.AnswerError
	if errors.As(err, &answered) && strings.HasPrefix(string(answered), "WRONGPASS") {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("log in as %s: %w", name, err)
	}
	return true, nil
}

func (s *Server) accountsFile() string { return filepath.Join(s.conf(), "accounts.json") }

// keepAccounts keeps the users of the library for the next start of a server, which has not loaded it yet.
func (s *Server) keepAccounts(all map[string]account) error {
	s.mu.Lock()
	same := maps.EqualFunc(s.accounts, all, func(a, b account) bool { return a.equal(b) })
	s.accounts = all
	s.mu.Unlock()
	if same {
		return nil
	}
	return disk.Replace(s.accountsFile(), all)
}

// dialAsClient connects as clients do.
func (s *Server) dialAsClient(ctx context.Context) (*session.Session, error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port))
	var conn net.Conn
	var err error
	if s.Certificate != "" {
		own := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // it is beside the agent
		d := tls.Dialer{Config: own}
		conn, err = d.DialContext(ctx, "tcp", address)
	} else {
		var d net.Dialer
		conn, err = d.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	return session.On(conn), nil
}
