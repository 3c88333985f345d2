package group

import (
	"io"
	"net"
	"testing"
	"time"
)

// TestMessagesToOneThatCameBack: the connection of a member that is gone takes bytes still, as that of a pod that was
// deleted does. The member that comes back elsewhere is told what the others hold, all the same.
func TestMessagesToOneThatCameBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m1, m2 := s.open("m1", nil), s.open("m2", nil)
	s.open("m3", nil)
	s.wait("m1 to be heard by m2", func() bool { return !m2.Heard()["m1"].IsZero() })

	// From here on m1 speaks with m2 by a way on which no refusal comes back.
	s.mu.Lock()
	direct := s.addresses["m2"]
	s.addresses["m2"] = swallow(t, direct)
	s.mu.Unlock()
	m1.network.drop()
	since := time.Now()
	s.wait("m1 to be heard by that way", func() bool { return m2.Heard()["m1"].After(since.Add(time.Second)) })
	if err := m2.Close(); err != nil {
		t.Fatal(err)
	}
	back := s.open("m2", nil)
	s.wait("m1 to be heard by m2 after its restart", func() bool { return !back.Heard()["m1"].IsZero() })
}

// TestMessagesOfAFault: an entry that nobody can read stops no member, and one that was removed is not heard.
func TestMessagesOfAFault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := s.openAll()
	s.wait("a leader", func() bool { return leader(all) != nil })
	l := leader(all)
	from := others(all, l)[0]
	s.wait("the leader to hear another", func() bool { return !l.Heard()[from.config.ID].IsZero() })
	from.mailbox(l.config.ID).send(message{Entry: []byte(`{"kind":"nonsense"}`)})
	s.wait("the leader to refuse it", func() bool {
		return s.reported("refused an entry of member " + string(from.config.ID))
	})
	for _, g := range all {
		g.machine.mu.Lock()
		if g.machine.halted != nil {
			t.Errorf("%s: %v", g.config.ID, g.machine.halted)
		}
		g.machine.mu.Unlock()
	}

	l.machine.mu.Lock()
	l.machine.document.Removed = append(l.machine.document.Removed, from.config.ID)
	l.machine.mu.Unlock()
	from.network.drop()
	s.wait("the leader to refuse one that was removed", func() bool {
		return s.reported("refused a connection from " + string(from.config.ID) + ", which was removed")
	})
}

// swallow passes connections on. After the end of the other side it takes what is sent to it, and tells of that end
// alone.
func swallow(t *testing.T, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer from.Close()
				remote, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				go func() {
					_, _ = io.Copy(from, remote)
					_ = from.(*net.TCPConn).CloseWrite()
				}()
				_, _ = io.Copy(remote, from)
				_, _ = io.Copy(io.Discard, from)
			}()
		}
	}()
	return l.Addr().String()
}
