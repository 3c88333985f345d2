package cluster_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// fakeProxy leads nowhere, and notes that it was closed.
type fakeProxy struct {
	at     engine.ClientEndpoint
	err    error
	closed bool
}

func (d *fakeProxy) At() engine.ClientEndpoint { return d.at }

func (d *fakeProxy) Err() error { return d.err }

func (d *fakeProxy) Close() error { d.closed = true; return nil }

// throughLocalProxy runs connect in a cluster whose clients must log in, on a machine
// that has a client program of that content; "" for none.
func throughLocalProxy(t *testing.T, script string, plain bool, args ...string) (clitest.Result, *fakeProxy) {
	t.Helper()
	b := clitest.New(t)
	create := []string{"create", "my-db", "--engine", "fakedb", "--auth", "--progress", "none"}
	if plain {
		create = append(create, "--no-tls")
	}
	b.Must(create...)
	b.AddPods("my-db", "my-db-1", "my-db-2")
	bin := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(bin, "fakectl"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	door := &fakeProxy{
		at: engine.ClientEndpoint{Address: "127.0.0.1:4242",
			Credentials: &engine.Credentials{User: "root", Password: "s3cret"}},
		err: errors.New("the pod is gone")}
	b.Door = func(member, user string) (clients.LocalProxy, error) {
		if member != "my-db-2" {
			t.Errorf("the door leads to %q", member)
		}
		if user != "" {
			door.at.Credentials = &engine.Credentials{User: user, Password: "of " + user}
		}
		return door, nil
	}
	return b.Run(append([]string{"connect", "my-db", "--member", "my-db-2"}, args...)...), door
}

func TestConnectThroughAProxy(t *testing.T) {
	t.Setenv("FAKECTL_AT", "production:2379")
	t.Setenv("FAKECTL_CA", "/of/production")
	r, door := throughLocalProxy(t, `echo "$* at $FAKECTL_AT with $FAKECTL_PASSWORD and ${FAKECTL_CA-none}"`, true, "--",
		"get",
		"k")
	if r.Code != exit.Done || r.Out != "get k at 127.0.0.1:4242 with s3cret and none\n" || r.Err != "" {
		t.Errorf("exit %d: %s%s", r.Code, r.Out, r.Err)
	}
	if !door.closed {
		t.Error("the door stays open")
	}
	r, door = throughLocalProxy(t, "exit 7", true)
	if r.Code != 7 || r.Err != "note: the pod is gone\n" || !door.closed {
		t.Errorf("the program fails: exit %d, %s", r.Code, r.Err)
	}
	r, door = throughLocalProxy(t, "kill -9 $$", true)
	if r.Code != exit.Interrupted || !door.closed {
		t.Errorf("the program is killed: exit %d, %s", r.Code, r.Err)
	}
}

func TestConnectThroughAProxyAsAUser(t *testing.T) {
	r, _ := throughLocalProxy(t, `echo "$* with $FAKECTL_PASSWORD"`, true, "--login", "client", "--", "get", "k")
	if r.Code != exit.Done || r.Out != "get k with of client\n" {
		t.Errorf("exit %d: %s%s", r.Code, r.Out, r.Err)
	}
	for _, plain := range []bool{true, false} {
		want, note := "FAKECTL_AT=localhost:2000 FAKECTL_PASSWORD=\"$PASSWORD\" fakectl get\n",
			"the password is in secret my-db-user-client\n"
		if !plain {
			want = strings.Replace(want, " FAKECTL_PASS", " FAKECTL_CA=ca.crt FAKECTL_PASS", 1)
			note = "the files are in secret my-db-client-tls, and " + note
		}
		r, _ = throughLocalProxy(t, "", plain, "--login", "client", "--no-exec", "--", "get")
		if r.Code != exit.Done || !strings.HasSuffix(r.Out, "\n"+want) || r.Err != note {
			t.Errorf("exit %d:\n%s%s", r.Code, r.Out, r.Err)
		}
	}
}

func TestConnectWithoutAProgram(t *testing.T) {
	r, door := throughLocalProxy(t, "", false)
	if r.Code != exit.Failed || !strings.Contains(r.Err, "fakectl has to run on this machine, and it is not in PATH") ||
		door.closed {
		t.Errorf("exit %d: %s", r.Code, r.Err)
	}
}

func TestConnectByHand(t *testing.T) {
	for _, c := range []struct {
		plain     bool
		out, note string
	}{
		{true, "FAKECTL_AT=localhost:2000 FAKECTL_PASSWORD=\"$PASSWORD\" fakectl get 'a b'\n",
			"the password is in secret my-db-root\n"},
		{false, "FAKECTL_AT=localhost:2000 FAKECTL_CA=ca.crt fakectl get 'a b'\n",
			"the files are in secret my-db-admin-tls\n"},
	} {
		r, _ := throughLocalProxy(t, "", c.plain, "--no-exec", "--", "get", "a b")
		if want := "kubectl port-forward -n shop pod/my-db-2-0 2000\n" + c.out; r.Code != exit.Done || r.Out != want ||
			r.Err != c.note {
			t.Errorf("exit %d:\n%s%s", r.Code, r.Out, r.Err)
		}
	}
}

func TestConnectInAPod(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	if r := b.Run("connect", "my-db"); r.Code != exit.Refused {
		t.Errorf("without a pod: exit %d\n%s", r.Code, r.Err)
	}
	b.AddPods("my-db", "my-db-1")
	if r := b.Run("connect", "my-db", "--print", "--member", "my-db-1"); r.Code != exit.Usage ||
		!strings.Contains(r.Err, "--print is of no member") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
	if r := b.Run("connect", "my-db", "--no-exec", "--", "get",
		"k"); r.Out != "kubectl exec -it -n shop my-db-1-0 -- fakectl get k\n" {
		t.Errorf("%s%s", r.Out, r.Err)
	}
}
