//go:build linux

package movein

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/drivertest"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/test/port"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// start runs a new server that trusts everybody, until the test ends. More are arguments of it.
func start(t *testing.T, user string, more ...string) local.Server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed: hack/postgres.sh does it")
	}
	sockets, err := os.MkdirTemp("", "s") //nolint:usetesting // that one's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	bin := filepath.Dir(found[len(found)-1])
	major, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	s := local.Server{Bin: bin, Sockets: sockets, Port: port.Free(t), Major: major}
	data := filepath.Join(t.TempDir(), "data")
	if err := s.Run(t.Context(), "initdb", "--pgdata", data, "--username", user, "--no-sync", "--locale", "C.UTF-8",
		"--auth", "trust"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(s.Program("postgres"), append([]string{"-D", data, //nolint:noctx // the test ends it
		"-p", strconv.Itoa(s.Port), "-k", sockets, "-c", "listen_addresses=127.0.0.1", "-c",
		"wal_level=logical", "-c", "fsync=off"}, more...)...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		_ = cmd.Wait()
	})
	until(t, "the server answers", func() bool {
		c, err := local.Dial(t.Context(), "host="+sockets+" port="+strconv.Itoa(s.Port)+" dbname=postgres user="+user)
		return err == nil && c.Close(t.Context()) == nil
	})
	return s
}

// until waits for something.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it does not come", what)
		}
	}
}

// followed has a server follow another one, which holds what some statements made.
func followed(t *testing.T, statements ...string) *Move {
	t.Helper()
	from, to := start(t, "postgres"), start(t, local.User)
	at := protocol.Source{Address: "127.0.0.1:" + strconv.Itoa(from.Port)}
	door, err := source.Listen(to.Socket(local.SourcePort))
	if err != nil {
		t.Fatal(err)
	}
	s := Server{Server: to, Directory: t.TempDir(), Door: door, Report: func(text string) { t.Log(text) }}
	m, err := s.New(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range append([]string{"CREATE DATABASE shop"}, statements...) {
		database := "shop"
		if strings.HasPrefix(statement, "CREATE DATABASE ") {
			database = source.Maintenance
		}
		m.there(t, database, statement)
	}
	m.Start(context.WithoutCancel(t.Context()), "volume")
	t.Cleanup(func() {
		m.End()
		<-m.ended
		_ = door.Close()
	})
	until(t, "the source is followed", func() bool { return m.Told().Linked })
	return m
}

// there asks the source.
func (m *Move) there(t *testing.T, database, statement string) local.Rows {
	t.Helper()
	got, err := m.ask(t.Context(), database, statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return got
}

// here asks the server that follows, and returns the first column of the first row of the last answer.
func (m *Move) here(t *testing.T, database, statement string) string {
	t.Helper()
	got, err := m.server.OnceIn(t.Context(), database, statement)
	if err != nil || len(got[len(got)-1]) == 0 {
		t.Fatalf("%s: %v, %v", statement, got, err)
	}
	return got[len(got)-1][0][0]
}
