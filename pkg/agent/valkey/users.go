//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/acl"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// forbidden takes from every user but the agent what would break the agreement: to change who replicates what, to stop
// the server, or to change the settings that safety needs.
const forbidden = " -replicaof -slaveof -failover -shutdown -sync -psync -replconf -config -debug -module" +
	" -acl|setuser -acl|deluser -acl|load -acl|save -cluster -client|pause -client|unpause -bgsave -save"

// What administrators may besides, and others may not.
const (
	administrators = forbidden + " +config|get"
	others         = forbidden + " -function"
)

// secrets are the passwords of one run of the server.
type secrets struct {
	agent, stream, upstream, person string
}

func newSecrets() secrets {
	return secrets{agent: volume.NewName(24), stream: volume.NewName(24), upstream: volume.NewName(24),
		person: volume.NewName(24)}
}

// aclFile returns the rules of all users: those of the agent, those that the tool made, and those that people wrote in
// the file of users.
func aclFile(p product, s secrets, accounts map[string]account, people string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "user %s on %s ~* &* +@all\n", agentUser, acl.Hash(s.agent))
	fmt.Fprintf(&b, "user %s on %s +psync +replconf +ping\n", streamUser, acl.Hash(s.stream))
	b.WriteString(account{Hash: acl.Hash(s.person), Admin: true}.rule(p, personUser) + administrators + "\n")
	for _, rule := range accountRules(p, accounts) {
		b.WriteString(rule + "\n")
	}
	hasDefault := false
	for line := range strings.Lines(people) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		switch {
		case fields[0] != "user" || len(fields) < 2:
			return "",
				fmt.Errorf("read the file of users: a line begins with %q, not with the word user and a name", fields[0])
		case strings.HasPrefix(fields[1], agentUser):
			return "", fmt.Errorf("read the file of users: the name %s belongs to the agent", fields[1])
		case accounts[fields[1]].Hash != "":
			return "", fmt.Errorf("read the file of users: the tool made the user %s", fields[1])
		case strings.Contains(line, "("):
			return "",
				fmt.Errorf("read the file of users: the user %s has a selector, which the agent can't check", fields[1])
		}
		hasDefault = hasDefault || fields[1] == "default"
		b.WriteString(strings.Join(fields, " ") + others + "\n")
	}
	if !hasDefault {
		b.WriteString(acl.ClosedDefault + "\n")
	}
	return b.String(), nil
}

// rules returns the rules of all users as they should be now.
func (s *Server) rules() (string, error) {
	people, err := s.people()
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return aclFile(s.product, s.secrets, s.accounts, people)
}

func (s *Server) rulesFile() string { return filepath.Join(s.conf(), "users.acl") }

// writeUsers writes the rules for the next start of the server.
func (s *Server) writeUsers() error {
	rules, err := s.rules()
	if err == nil {
		err = disk.ReplaceBytes(s.rulesFile(), []byte(acl.WhileLoading(rules)))
	}
	return err
}

func (s *Server) people() (string, error) {
	if s.UsersFile == "" {
		return "", nil
	}
	raw, err := os.ReadFile(s.UsersFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the file of users: %w", err)
	}
	return string(raw), nil
}

// takeUsers reads the users that the server holds and those of the file of users, and has the server take what changed.
// The others keep their sessions: to load the whole file ends all of them before Redis 7.2. What the server refuses
// does not get into the file, which it reads at its next start.
func (s *Server) takeUsers(ctx context.Context) error {
	s.users.Lock()
	defer s.users.Unlock()
	all, err := s.readAccounts(ctx)
	if err == nil {
		err = s.keepAccounts(all)
	}
	if err != nil {
		return err
	}
	rules, err := s.rules()
	if err != nil {
		return err
	}
	taken, err := os.ReadFile(s.rulesFile())
	if err != nil {
		return fmt.Errorf("read the rules of users: %w", err)
	}
	if rules == string(taken) {
		return nil
	}
	for _, command := range acl.Changes(string(taken), rules) {
		if _, err := s.ask(ctx, command...); err != nil {
			return fmt.Errorf("change the user %s: %w", command[2], err)
		}
	}
	return disk.ReplaceBytes(s.rulesFile(), []byte(rules))
}

// Allows says whether a user has a password, by the rules that the server takes. It needs no server.
func (s *Server) Allows(user, password string) bool {
	rules, err := s.rules()
	return err == nil && acl.Allows(rules, user, password)
}

// refreshTime is how often the file of users is read again.
const refreshTime = 2 * time.Second

// refreshUsers has a server that answers take the users again if they changed.
func (s *Server) refreshUsers(ctx context.Context) {
	s.mu.Lock()
	due := time.Since(s.refreshed) >= refreshTime
	if due {
		s.refreshed = time.Now()
	}
	s.mu.Unlock()
	if !due {
		return
	}
	s.moveUsers()
	err := s.takeUsers(ctx)
	s.mu.Lock()
	news := err != nil && err.Error() != s.usersError
	s.usersError = ""
	if err != nil {
		s.usersError = err.Error()
	}
	s.mu.Unlock()
	if news {
		s.Report("the users stay as they are: " + err.Error())
	}
}
