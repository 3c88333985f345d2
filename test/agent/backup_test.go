package agent

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	engines "github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
)

// TestBackup copies the data of a replica and of the primary while clients write. A new cluster that is made of a copy
// holds every row that was acknowledged before, and grows; and it is on a timeline of its own.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3}, 1)
	p := s.awaitPrimary()
	for name, from := range map[string]*member{"replica": s.replicas(p)[0], "primary": p} {
		var held map[int]bool
		s.wait("the rows of the "+name, func() bool {
			var err error
			held, err = s.engine.rows(p, from)
			return err == nil && len(held) > 0
		})
		file := filepath.Join(s.dir, name)
		contents := s.copy(from, file)
		r := newSite(t, options{durability: protocol.Strict, members: 1})
		m := r.restore(file)
		var got api.Contents
		r.wait("the restored data to be described", func() bool {
			var err error
			got, err = m.client.Contents(t.Context())
			return err == nil
		})
		if got.Proof == "" || got.Proof != contents {
			t.Errorf("the copy of the %s is %q, and restored %q", name, contents, got.Proof)
		}
		restored, err := r.engine.rows(m, m)
		if err != nil {
			t.Fatal(err)
		}
		for id := range held {
			if !restored[id] {
				t.Errorf("row %d is not in the copy of the %s", id, name)
			}
		}
		st := m.known()
		if st.System != p.known().System || st.Server.Position.Timeline <= p.known().Server.Position.Timeline {
			t.Errorf("the restored database is %s at %v", st.System, st.Server.Position)
		}
		spare := r.spare[0]
		spare.token = m.token
		if err := m.client.AddMember(t.Context(), api.NewMember{ID: spare.id}); err != nil {
			t.Fatal(err)
		}
		r.members, r.spare = append(r.members, spare), r.spare[1:]
		spare.start()
		r.wait("another member streams", func() bool {
			st := spare.status()
			return st != nil && st.Server.Role == protocol.Replica && st.Server.Upstream == m.id && !st.Server.Unread
		})
	}
	s.clients.check(t)
}

// copy takes a copy of a member's data, and returns its proof.
func (s *site) copy(from *member, file string) string {
	s.t.Helper()
	out, err := os.Create(file)
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	ctx, stop := context.WithTimeout(s.t.Context(), time.Minute)
	defer stop()
	if err := from.client.Copy(ctx, out); err != nil {
		s.t.Fatal(err)
	}
	facts, err := s.engine.tool().OpenSnapshot(file, false)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(facts.Proof)
}

// restore makes the volume of the first member again, of a copy, and starts it in an incarnation of its own. It returns
// once that serves.
func (s *site) restore(file string) *member {
	s.t.Helper()
	return s.restoreWith(file, func(*member) error { return nil })
}

// restoreWith does something to the data before the member starts.
func (s *site) restoreWith(file string, then func(*member) error) *member {
	s.t.Helper()
	m := s.members[0]
	s.wait("its agent runs", func() bool { return m.status() != nil }) // nobody knows a process that starts
	m.kill()
	if err := os.RemoveAll(m.directory); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Mkdir(m.directory, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := s.engine.tool().Unpack(s.t.Context(), file, filepath.Join(m.directory, "data")); err != nil {
		s.t.Fatal(err)
	}
	if err := then(m); err != nil {
		s.t.Fatal(err)
	}
	s.ownTree(m.directory)
	m.token = "restored"
	m.start()
	s.wait("the restored member serves", func() bool { return s.primary() == m })
	return m
}

// ownTree gives a directory to the user of the servers.
func (s *site) ownTree(directory string) {
	s.t.Helper()
	if err := filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chown(path, s.uid, s.gid)
		}
		if errors.Is(err, fs.ErrNotExist) { // a server that runs there removed it meanwhile
			return nil
		}
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
}

// TestBackupDamaged: no data is made of a copy with one byte that is wrong.
func TestBackupDamaged(t *testing.T) {
	t.Parallel()
	s := newSite(t, options{durability: protocol.Async, members: 1})
	s.wait("a primary", func() bool { return s.primary() != nil })
	file := filepath.Join(s.dir, "copy")
	s.copy(s.primary(), file)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[bytes.Index(raw, []byte("base/1/1255"))+100_000] ^= 1
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := engines.New().Unpack(t.Context(), file, filepath.Join(s.dir, "data")); err == nil {
		t.Error("a damaged copy is unpacked")
	} else {
		t.Log(err)
	}
}
