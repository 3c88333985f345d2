package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// fakeDoorway leads nowhere, and notes that it was closed.
type fakeDoorway struct {
	at     engine.Doorway
	err    error
	closed bool
}

func (d *fakeDoorway) At() engine.Doorway { return d.at }
func (d *fakeDoorway) Err() error         { return d.err }
func (d *fakeDoorway) Close() error       { d.closed = true; return nil }

// throughDoor runs connect in a cluster whose clients must log in, on a machine
// that has a client program of that content; "" for none.
func throughDoor(t *testing.T, script string, plain bool, args ...string) (result, *fakeDoorway) {
	t.Helper()
	b := newBench(t)
	create := []string{"create", "my-db", "--engine", "fakedb", "--auth", "--progress", "none"}
	if plain {
		create = append(create, "--no-tls")
	}
	b.must(create...)
	b.addPods("my-db", "my-db-1", "my-db-2")
	bin := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(bin, "fakectl"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	door := &fakeDoorway{at: engine.Doorway{Address: "127.0.0.1:4242", Credentials: &engine.Credentials{User: "root", Password: "s3cret"}}, err: errors.New("the pod is gone")}
	b.door = func(member string) (LocalProxy, error) {
		if member != "my-db-2" {
			t.Errorf("the door leads to %q", member)
		}
		return door, nil
	}
	return b.run(append([]string{"connect", "my-db", "--member", "my-db-2"}, args...)...), door
}

func TestConnectThroughADoorway(t *testing.T) {
	t.Setenv("FAKECTL_AT", "production:2379")
	t.Setenv("FAKECTL_CA", "/of/production")
	r, door := throughDoor(t, `echo "$* at $FAKECTL_AT with $FAKECTL_PASSWORD and ${FAKECTL_CA-none}"`, true, "--", "get", "k")
	if r.code != ExitDone || r.out != "get k at 127.0.0.1:4242 with s3cret and none\n" || r.err != "" {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	if !door.closed {
		t.Error("the door stays open")
	}
	r, door = throughDoor(t, "exit 7", true)
	if r.code != 7 || r.err != "note: the pod is gone\n" || !door.closed {
		t.Errorf("the program fails: exit %d, %s", r.code, r.err)
	}
	r, door = throughDoor(t, "kill -9 $$", true)
	if r.code != ExitInterrupted || !door.closed {
		t.Errorf("the program is killed: exit %d, %s", r.code, r.err)
	}
}

func TestConnectWithoutAProgram(t *testing.T) {
	r, door := throughDoor(t, "", false)
	if r.code != ExitFailed || !strings.Contains(r.err, "fakectl has to run on this machine, and it is not in PATH") || door.closed {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func TestConnectByHand(t *testing.T) {
	for _, c := range []struct {
		plain     bool
		out, note string
	}{
		{true, "FAKECTL_AT=localhost:2000 FAKECTL_PASSWORD=\"$PASSWORD\" fakectl get 'a b'\n", "the password is in secret my-db-root\n"},
		{false, "FAKECTL_AT=localhost:2000 FAKECTL_CA=ca.crt fakectl get 'a b'\n", "the files are in secret my-db-admin-tls\n"},
	} {
		r, _ := throughDoor(t, "", c.plain, "--no-exec", "--", "get", "a b")
		if want := "kubectl port-forward -n shop pod/my-db-2-0 2000\n" + c.out; r.code != ExitDone || r.out != want || r.err != c.note {
			t.Errorf("exit %d:\n%s%s", r.code, r.out, r.err)
		}
	}
}

func TestConnectInAPod(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	if r := b.run("connect", "my-db"); r.code != ExitRefused {
		t.Errorf("without a pod: exit %d\n%s", r.code, r.err)
	}
	b.addPods("my-db", "my-db-1")
	if r := b.run("connect", "my-db", "--no-exec", "--", "get", "k"); r.out != "kubectl exec -it -n shop my-db-1-0 -- fakectl get k\n" {
		t.Errorf("%s%s", r.out, r.err)
	}
}
