package agent

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// spoil is something that somebody does by hand to what a stopped member keeps of the group.
type spoil struct {
	name string
	do   func(*story, *member)
	// says is what the agents tell of the member; "" where it may also be as good as before.
	says string
}

func (m *member) group() string { return filepath.Join(m.directory, "group") }

// open opens the log of the group of a member that does not run.
func (m *member) open() *raftboltdb.BoltStore {
	m.site.t.Helper()
	log, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(m.group(), "log.db")})
	if err != nil {
		m.site.t.Fatal(err)
	}
	return log
}

// hashes reads the log of a member that does not run: the hash of the document after each entry, and those that
// primaries told. What a primary told was agreed on.
func (m *member) hashes() (after, told map[uint64]string) {
	t := m.site.t
	t.Helper()
	log := m.open()
	defer log.Close()
	first, err1 := log.FirstIndex()
	last, err2 := log.LastIndex()
	if err := errors.Join(err1, err2); err != nil || first != 1 {
		t.Fatalf("the log of %s begins at %d: %v", m.id, first, err)
	}
	after, told = map[uint64]string{}, map[uint64]string{}
	var d protocol.Document
	for index := first; index <= last; index++ {
		var l raft.Log
		if err := log.GetLog(index, &l); err != nil {
			t.Fatal(err)
		}
		var e protocol.Entry
		switch l.Type {
		case raft.LogCommand:
			var err error
			if e, err = protocol.Decode(l.Data); err != nil {
				t.Fatal(err)
			}
		case raft.LogConfiguration:
			c := protocol.Configured{}
			for _, s := range raft.DecodeConfiguration(l.Data).Servers {
				if s.Suffrage == raft.Voter {
					c.Voters = append(c.Voters, protocol.MemberID(s.ID))
				}
			}
			e = &c
		default:
			continue
		}
		if r, ok := e.(*protocol.Renew); ok {
			told[r.At] = r.Chain
		}
		_ = d.Apply(index, e) // one that is refused changes nothing
		after[index] = d.Chain
	}
	return after, told
}

// cutLog removes the last entries.
func cutLog(s *story, m *member) {
	log := m.open()
	defer log.Close()
	last, err := log.LastIndex()
	if err == nil {
		err = log.DeleteRange(last-uint64(s.random.IntN(10)), last)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// changeLog has an entry say something else: that the database need wait for no standby.
func changeLog(s *story, m *member) {
	log := m.open()
	defer log.Close()
	last, err := log.LastIndex()
	for index := uint64(1); err == nil && index <= last; index++ {
		var l raft.Log
		if err = log.GetLog(index, &l); err != nil {
			break
		}
		changed := bytes.Replace(l.Data, []byte(`"durability":"strict"`), []byte(`"durability":"async"`), 1)
		if !bytes.Equal(changed, l.Data) {
			l.Data = changed
			if err := log.StoreLog(&l); err != nil {
				s.t.Fatal(err)
			}
			return
		}
	}
	s.t.Fatalf("no entry names the durability: %v", err)
}

// overwriteLog writes anything anywhere into the file.
func overwriteLog(s *story, m *member) {
	f, err := os.OpenFile(filepath.Join(m.group(), "log.db"), os.O_RDWR, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	for range 8 {
		if err == nil {
			_, err = f.WriteAt([]byte{byte(s.random.Uint32())}, s.random.Int64N(info.Size()))
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func deleteGroup(s *story, m *member) {
	if err := os.RemoveAll(m.group()); err != nil {
		s.t.Fatal(err)
	}
}

// oldGroup puts an old state of the group beside newer data.
func oldGroup(s *story, m *member) {
	copyTree(s.t, m.group(), m.group()+".old")
	m.start()
	s.wait("whole", s.whole)
	time.Sleep(2 * time.Second)
	m.kill()
	deleteGroup(s, m)
	if err := os.Rename(m.group()+".old", m.group()); err != nil {
		s.t.Fatal(err)
	}
}

// TestGroupState has somebody delete, roll back and edit what a stopped member keeps of the group. It starts again
// while another member is down, so that its vote would decide. It takes no part and is named, or is as good as before:
// nothing that was agreed on is forgotten, and nothing that was acknowledged is lost.
func TestGroupState(t *testing.T) {
	all := []spoil{
		{"the last entries are removed", cutLog, "its volume was rolled back"},
		{"an entry is changed", changeLog, "its group state was changed by hand"},
		{"it is deleted", deleteGroup, "its volume was emptied or rolled back"},
		{"it is rolled back", oldGroup, "its volume was"},
	}
	seeds := 1
	if torture() {
		seeds = 20
	}
	for seed := *seedFlag; seed < *seedFlag+uint64(seeds); seed++ {
		for i, c := range append(all, spoil{"bytes are overwritten", overwriteLog, ""}) {
			if i >= 2 && !torture() && !*allFlag {
				break
			}
			t.Run(fmt.Sprintf("%s-%d", strings.ReplaceAll(c.name, " ", "-"), seed), func(t *testing.T) {
				t.Parallel()
				s := begin(t, options{durability: protocol.Strict, members: 3}, seed)
				s.spoil(c)
				s.clients.check(t)
				s.remembers()
			})
		}
	}
}

// spoil has somebody do something to one member while another one is down.
func (s *story) spoil(c spoil) {
	s.t.Helper()
	p := s.awaitPrimary()
	others := s.replicas(p)
	spoilt, gone := others[0], []*member{p, others[1]}[s.random.IntN(2)]
	time.Sleep(time.Second)
	spoilt.kill()
	_, s.agreed = spoilt.hashes()
	c.do(s, spoilt)
	gone.kill()
	_, told := gone.hashes()
	maps.Copy(s.agreed, told)
	spoilt.start()
	if c.says != "" {
		s.refused(spoilt, c.says)
	}
	time.Sleep(2 * s.lease())
	gone.start()
	s.again()
	s.replace(spoilt)
}

// remembers holds that every member has all that was agreed on.
func (s *story) remembers() {
	s.t.Helper()
	for _, m := range s.members {
		m.kill()
		after, _ := m.hashes()
		for index, hash := range s.agreed {
			if after[index] != hash {
				s.t.Errorf("at %d, %s has the document %q, and %q was agreed on", index, m.id, after[index], hash)
				break
			}
		}
	}
	if len(s.agreed) < 3 {
		s.t.Errorf("only %d documents are known to be agreed on", len(s.agreed))
	}
}

// TestGroupStateOfAll deletes what all members keep of the group, or all but one. Without any of it the first members
// found the group again, with the data that is there. Where one remembers, nobody leads until it has been put back.
func TestGroupStateOfAll(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	for _, lost := range []int{3, 2} {
		t.Run(fmt.Sprintf("of %d", lost), func(t *testing.T) {
			t.Parallel()
			s := begin(t, options{durability: protocol.Strict, members: 3}, *seedFlag)
			time.Sleep(time.Second)
			for _, m := range s.members {
				m.kill()
			}
			s.random.Shuffle(3, func(i, j int) { s.members[i], s.members[j] = s.members[j], s.members[i] })
			for _, m := range s.members[:lost] {
				if err := os.Rename(m.group(), m.group()+".kept"); err != nil {
					t.Fatal(err)
				}
			}
			acknowledged := s.clients.count()
			for _, m := range s.members {
				m.start()
			}
			if lost < 3 {
				for _, m := range s.members[:lost] {
					s.refused(m, "member "+string(m.id)+" is refused: its start number")
				}
				time.Sleep(4 * s.lease())
				if n := s.clients.count() - acknowledged; n > 0 {
					t.Errorf("%d rows are acknowledged without the one that remembers", n)
				}
				for _, m := range s.members[:lost] {
					m.kill()
					deleteGroup(s, m)
					if err := os.Rename(m.group()+".kept", m.group()); err != nil {
						t.Fatal(err)
					}
					m.start()
				}
			}
			s.again()
			s.wait("whole", s.whole)
			s.clients.check(t)
		})
	}
}
