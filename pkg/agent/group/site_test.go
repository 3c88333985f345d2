package group

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/certificate"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// authority signs certificates of members.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return authority{c, key}
}

func (a authority) sign(t *testing.T, id protocol.MemberID, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: string(id)}, DNSNames: []string{string(id)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// identity shows a certificate, and trusts the authority of the site.
func (s *site) identity(own tls.Certificate) func() certificate.Identity {
	pool := x509.NewCertPool()
	pool.AddCert(s.authority.certificate)
	return func() certificate.Identity { return certificate.Identity{Own: own, Authority: pool} }
}

// site is a place for groups of one test: where members listen, and what they were told.
type site struct {
	t         *testing.T
	authority authority
	dirs      map[protocol.MemberID]string

	mu        sync.Mutex
	addresses map[protocol.MemberID]string
	reports   []string
	documents map[protocol.MemberID]*protocol.Document
}

func newSite(t *testing.T) *site {
	t.Helper()
	return &site{
		t: t, authority: newAuthority(t), dirs: map[protocol.MemberID]string{}, addresses: map[protocol.MemberID]string{},
		documents: map[protocol.MemberID]*protocol.Document{},
	}
}

var initialMembers = []protocol.MemberID{"m1", "m2", "m3"}

// open starts a member; change may alter its configuration.
func (s *site) open(id protocol.MemberID, change func(*Config)) *Group {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	if s.dirs[id] == "" {
		s.dirs[id] = s.t.TempDir()
	}
	document := &protocol.Document{}
	s.mu.Lock()
	s.addresses[id] = listener.Addr().String()
	s.documents[id] = document
	s.mu.Unlock()
	c := Config{
		ID: id, Token: "token", Directory: s.dirs[id], Listener: listener, Ballast: 1 << 16,
		Identity:  s.identity(s.authority.sign(s.t, id, time.Now().Add(time.Hour))),
		Bootstrap: initialMembers, Election: time.Second,
		Address: func(id protocol.MemberID) string {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.addresses[id]
		},
		Deliver: func(e protocol.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			switch e := e.(type) {
			case protocol.Applied:
				_ = document.Apply(e.Index, e.Entry)
			case protocol.Restored:
				*document = e.Document
			}
		},
		Report: func(what string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.reports = append(s.reports, what)
		},
		Log: s.t.Output(),
	}
	if change != nil {
		change(&c)
	}
	g, err := Open(c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		select {
		case <-g.done:
		default:
			_ = g.Close()
		}
	})
	return g
}

// openAll starts the first members.
func (s *site) openAll() (groups []*Group) {
	s.t.Helper()
	for _, id := range initialMembers {
		groups = append(groups, s.open(id, nil))
	}
	return groups
}

// wait polls until something holds. The machine may be slow: the bound is generous.
func (s *site) wait(what string, holds func() bool) time.Duration {
	s.t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > 90*time.Second {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("waited in vain: %s; reports:\n%s", what, strings.Join(s.reports, "\n"))
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

func (s *site) reported(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.reports, func(r string) bool { return strings.Contains(r, what) })
}

// agreed proposes an entry through a member until all of some members have it.
func (s *site) agreed(through *Group, e protocol.Entry, has func(*protocol.Document) bool, ids ...protocol.MemberID) {
	s.t.Helper()
	var last time.Time
	s.wait(e.Kind()+" at "+fmt.Sprint(ids), func() bool {
		if time.Since(last) > time.Second {
			through.Propose(e)
			last = time.Now()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return !slices.ContainsFunc(ids, func(id protocol.MemberID) bool { return !has(s.documents[id]) })
	})
}

func (s *site) found(through *Group) {
	s.t.Helper()
	settings := protocol.Settings{Timing: protocol.DefaultTiming(), Durability: protocol.Async}
	e := &protocol.Found{Token: "token", Settings: settings}
	for _, id := range initialMembers {
		e.InitialMembers = append(e.InitialMembers, protocol.InitialMember{ID: id})
	}
	whole := func(d *protocol.Document) bool { return d.Token == "token" && len(d.Voters) == 3 }
	s.agreed(through, e, whole, initialMembers...)
}

func (s *site) joined(through *Group, number uint64, ids ...protocol.MemberID) {
	s.t.Helper()
	e := &protocol.Joined{Member: "m1", Start: number, Level: 1}
	s.agreed(through, e, func(d *protocol.Document) bool { return d.Members["m1"].Start == number }, ids...)
}

func leader(groups []*Group) *Group {
	for _, g := range groups {
		if g.raft.State() == raft.Leader && !g.network.isLeft() {
			return g
		}
	}
	return nil
}

func others(groups []*Group, g *Group) []*Group {
	return slices.DeleteFunc(slices.Clone(groups), func(o *Group) bool { return o == g })
}

func ids(groups []*Group) (all []protocol.MemberID) {
	for _, g := range groups {
		all = append(all, g.config.ID)
	}
	return all
}
