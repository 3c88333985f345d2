package etcd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/pod"
)

// TestSnapshotRoundTrip backs up a server of every series, reads the file,
// asks etcdutl for a second opinion, restores it into the same and the next
// series, and compares key by key.
func TestSnapshotRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to     string
		keepRevision bool
	}{
		{series35, series35, true},
		{series35, series36, false},
		{series36, series36, false},
		{series36, series37, false},
		{series37, series37, true},
		{series37, series37, false},
	} {
		t.Run(fmt.Sprintf("%s to %s keeping %v", c.from, c.to, c.keepRevision), func(t *testing.T) {
			t.Parallel()
			if err := New().CheckRestore(versionOf(t, c.from), versionOf(t, c.to)); err != nil {
				t.Fatal(err)
			}
			f := newFleet(t, "source", 1)
			seed := f.name(1)
			f.form(c.from, seed)
			f.fill(seed)
			file := f.snapshot(seed)
			facts, err := New().OpenSnapshot(file, false)
			if err != nil {
				t.Fatal(err)
			}
			want, err := f.session.Fingerprint(t.Context(), seed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, facts.Fingerprint); diff != "" {
				t.Errorf("snapshot differs from its source (-source +snapshot):\n%s", diff)
			}
			if facts.Auth || !cmp.Equal(facts.Members, []string{seed}) || (facts.Schema == "") != (c.from == series35) {
				t.Errorf("facts %+v", facts)
			}
			f.agree(c.from, file, facts)
			f.restore(c.to, file, c.keepRevision, facts.Fingerprint)
		})
	}
}

// fill writes a history with everything that reading it must get right.
func (f *fleet) fill(member string) {
	f.t.Helper()
	err := f.client(member, func(ctx context.Context, c *clientv3.Client) error {
		var err error
		do := func(op clientv3.Op) {
			if err == nil {
				_, err = c.Do(ctx, op)
			}
		}
		for i := range 300 {
			do(clientv3.OpPut(fmt.Sprintf("key/%03d", i), strings.Repeat("v", i)))
		}
		do(clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut("twice", "a"), clientv3.OpPut("key/000", ""),
			clientv3.OpDelete("key/001")}, nil))
		do(clientv3.OpPut("\x00", "first key"))
		do(clientv3.OpPut("\xff\xff", "last key"))
		do(clientv3.OpDelete("key/1", clientv3.WithPrefix()))
		do(clientv3.OpPut("key/150", "again"))
		if err != nil {
			return err
		}
		lease, err := c.Grant(ctx, 600)
		if err != nil {
			return err
		}
		do(clientv3.OpPut("leased", "goes by itself", clientv3.WithLease(lease.ID)))
		do(clientv3.OpPut("gone", "soon"))
		do(clientv3.OpDelete("gone"))
		if err != nil {
			return err
		}
		// Drops the deletion that is the last change.
		now, err := c.Get(ctx, "gone")
		if err != nil {
			return err
		}
		_, err = c.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// snapshot takes one and checks what was reported meanwhile.
func (f *fleet) snapshot(member string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, "snapshot.db")
	file, err := os.Create(path)
	if err != nil {
		f.t.Fatal(err)
	}
	var reported int64
	if err := f.session.Snapshot(f.t.Context(), member, file, func(n int64) { reported = n }); err != nil {
		f.t.Fatal(err)
	}
	info, err := file.Stat()
	if err = errors.Join(err, file.Close()); err != nil {
		f.t.Fatal(err)
	}
	if reported != info.Size() {
		f.t.Errorf("reported %d bytes, wrote %d", reported, info.Size())
	}
	return path
}

// agree compares the facts with those of etcdutl, which counts leased keys
// too and takes the last change that is left for the revision.
func (f *fleet) agree(series, file string, facts engine.SnapshotFacts) {
	f.t.Helper()
	out, err := exec.CommandContext(f.t.Context(), program(f.t, series, "etcdutl"), "snapshot", "status", file, "-w",
		"json").Output()
	if err != nil {
		f.t.Fatal(err)
	}
	var status struct {
		Revision int64 `json:"revision"`
		// 3.5 counts every change of every key.
		TotalKey int64  `json:"totalKey"`
		Version  string `json:"version"`
	}
	if err := json.Unmarshal(out, &status); err != nil {
		f.t.Fatal(err)
	}
	if status.Version != facts.Schema || status.Revision > counted(facts.Fingerprint, "revision") ||
		(series != series35 && status.TotalKey != counted(facts.Fingerprint, "keys")+1) {
		f.t.Errorf("etcdutl says %+v, we say %+v", status, facts)
	}
}

// restore loads the file with the command that a pod would run and starts a
// member of it.
func (f *fleet) restore(series, file string, keepRevision bool, want engine.Fingerprint) {
	f.t.Helper()
	r := newFleet(f.t, "copy", 1)
	seed := r.name(1)
	argv := New().LoadCommand(engine.LoadInput{
		Cluster: r.cluster, Member: seed, Token: r.cluster.Status.Bootstrap.Token,
		File: file, DataDir: pod.DataDir, KeepRevision: keepRevision,
	})
	argv = r.local(seed, argv)
	load := func() ([]byte, error) {
		return exec.CommandContext(f.t.Context(), program(f.t, series, "etcdutl"), argv[1:]...).CombinedOutput()
	}
	if out, err := load(); err != nil {
		f.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	if out, err := load(); err == nil || !bytes.Contains(out, []byte("not empty")) {
		f.t.Errorf("loading twice: %v\n%s", err, out)
	}
	dataHash, err := New().DataHash(file, argv)
	if err != nil || dataHash.Proof != want.Proof || dataHash.Mark == "" {
		f.t.Errorf("imprint %+v, %v, want %+v", dataHash, err, want)
	}
	r.start(series, seed, true, seed)
	r.healthy(seed)
	r.attests(seed, dataHash.Mark)
	least := counted(want, "revision")
	if !keepRevision {
		least += 1_000_000_000
	}
	got, err := r.session.Fingerprint(f.t.Context(), seed)
	if err != nil {
		f.t.Fatal(err)
	}
	if now := counted(got, "revision"); now < least {
		f.t.Errorf("revision %d after the restore, want at least %d", now, least)
	}
	if got.Proof != want.Proof {
		f.t.Errorf("restored %+v, want %+v", got, want)
	}
	// A backup of a restored server carries the mark of the raised revision.
	again, err := New().OpenSnapshot(r.snapshot(seed), true)
	if err != nil {
		f.t.Fatal(err)
	}
	if diff := cmp.Diff(got, again.Fingerprint); diff != "" {
		f.t.Errorf("snapshot of the restored server (-server +snapshot):\n%s", diff)
	}
}

// attests asks the member for what was loaded into it, and for something else.
func (f *fleet) attests(member, mark string) {
	f.t.Helper()
	if yes, err := f.session.VerifyHash(f.t.Context(), member, mark); err != nil || !yes {
		f.t.Errorf("the member does not stand by %s: %v", mark, err)
	}
	other := mark[:len(mark)-1] + "0"
	if other == mark {
		other = mark[:len(mark)-1] + "1"
	}
	if yes, err := f.session.VerifyHash(f.t.Context(), member, other); err != nil || yes {
		f.t.Errorf("the member confirms %s, which is not %s: %v", other, mark, err)
	}
}

// TestSnapshotOfNobody: a member that is down, and a writer that fails.
func TestSnapshotOfNobody(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "nobody", 1)
	if err := f.session.Snapshot(t.Context(), f.name(1), &bytes.Buffer{}, nil); !errors.Is(err, engine.ErrNotReady) {
		t.Errorf("snapshot of a member that is down: %v", err)
	}
	f.form(series36, f.name(1))
	if err := f.session.Snapshot(t.Context(), f.name(1), fullDisk{}, nil); !errors.Is(err, errFull) {
		t.Errorf("snapshot to a full disk: %v", err)
	}
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
