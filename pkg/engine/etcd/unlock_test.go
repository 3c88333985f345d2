package etcd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/pod"
)

// TestUnlock restores a backup that demands credentials on every series, and
// reads it without any, with and without Unlock.
func TestUnlock(t *testing.T) {
	t.Parallel()
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "locked", 1, plainText)
			seed := f.name(1)
			f.form(series, seed)
			f.enableAuth(seed)
			if err := f.put(seed, "k", "v", ""); err != nil {
				t.Fatal(err)
			}
			file := f.snapshot(seed)
			if facts, err := New().OpenSnapshot(file, true); err != nil || !facts.Auth {
				t.Fatalf("facts %+v: %v", facts, err)
			}
			f.kill(seed)
			f.passwords = nil
			other := client.New(f.access(), f.session.At)
			defer func() { _ = other.Close() }()
			for _, unlocked := range []bool{false, true} {
				if err := os.RemoveAll(f.members[seed].data); err != nil {
					t.Fatal(err)
				}
				f.load(series, seed, file)
				if unlocked {
					if err := New().Unlock(f.members[seed].data); err != nil {
						t.Fatal(err)
					}
				}
				f.start(series, seed, false, seed)
				f.eventually("answers as it should", func() error {
					found, err := other.Fingerprint(t.Context(), seed)
					switch {
					case unlocked && (err != nil || counted(found, "keys") != 1):
						return fmt.Errorf("found %+v: %w", found, err)
					case !unlocked && (err == nil || !strings.Contains(err.Error(), "user name is empty")):
						return fmt.Errorf("it lets anybody in, or nobody: %w", err)
					}
					return nil
				})
				f.kill(seed)
			}
		})
	}
}

// load restores a snapshot into the data directory of a member, as its pod would.
func (f *fleet) load(series, member, file string) {
	f.t.Helper()
	argv := New().LoadCommand(engine.LoadInput{Cluster: f.cluster, Member: member, Token: "restored", File: file,
		DataDir: pod.DataDir, KeepRevision: true})
	out, err := exec.CommandContext(f.t.Context(), program(f.t, series, filepath.Base(argv[0])),
		f.local(member, argv[1:])...).CombinedOutput()
	if err != nil {
		f.t.Fatalf("%v\n%s", err, out)
	}
}
