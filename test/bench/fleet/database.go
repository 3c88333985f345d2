package fleet

import (
	"crypto/tls"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// databases are the etcd clusters of all simulated members, by the host names
// of their members. They hold no keys; they agree at once.
type databases struct {
	mu      sync.Mutex
	members map[string]*member
}

// database is one cluster of etcd.
type database struct {
	id     uint64
	term   uint64
	index  uint64
	leader *member
	all    []*member
}

// member is one process of etcd, or one that ran.
type member struct {
	host, name, version string
	id                  uint64
	peerURL, clientURL  string
	of                  *database
	running             bool
	certificate         *tls.Certificate
}

var errUnknown = errors.New("no such member runs")

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// flag is the value of an argument of etcd's.
func flag(args []string, name string) string {
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			return v
		}
	}
	return ""
}

// begin runs a member with the arguments of its pod. Initial members of one token
// are of one cluster, as etcd computes it.
func (d *databases) begin(host, version string, args []string, certificate *tls.Certificate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.members[host]
	if m == nil {
		cluster := hash(flag(args, "initial-cluster-token"))
		var of *database
		for peer := range strings.SplitSeq(flag(args, "initial-cluster"), ",") {
			_, url, _ := strings.Cut(peer, "=")
			if p := d.members[hostOf(url)]; p != nil && p.of.id == cluster {
				of = p.of
			}
		}
		if of == nil {
			of = &database{id: cluster, term: 2, index: 10}
		}
		peerURL := flag(args, "initial-advertise-peer-urls")
		m = &member{host: host, name: flag(args, "name"), id: hash(peerURL), peerURL: peerURL,
			clientURL: flag(args, "advertise-client-urls"), of: of}
		of.all = append(of.all, m)
		slices.SortFunc(of.all, func(a, b *member) int { return strings.Compare(a.name, b.name) })
		d.members[host] = m
	}
	m.running, m.version, m.certificate = true, version, certificate
	m.of.elect()
}

// end is the end of a member's process.
func (d *databases) end(host string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.members[host]; m != nil {
		m.running = false
		m.of.elect()
	}
}

// running is how many members run, and runs whether one does.
func (d *databases) running() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, m := range d.members {
		if m.running {
			n++
		}
	}
	return n
}

func (d *databases) runs(host string) bool { return d.shows(host) != nil }

// shows is the certificate of a member that runs.
func (d *databases) shows(host string) *tls.Certificate {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.members[host]; m != nil && m.running {
		return m.certificate
	}
	return nil
}

// elect gives a cluster a leader if it has none and a majority runs.
func (c *database) elect() {
	var run []*member
	for _, m := range c.all {
		if m.running {
			run = append(run, m)
		}
	}
	switch {
	case len(run) <= len(c.all)/2:
		c.leader = nil
	case c.leader == nil || !c.leader.running:
		c.leader = run[0]
		c.term++
	}
}

// header opens every answer.
func (m *member) header() *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: m.of.id, MemberId: m.id, Revision: 1, RaftTerm: m.of.term}
}

// status is what a member says of itself.
func (d *databases) status(host string) (*pb.StatusResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.members[host]
	if m == nil || !m.running {
		return nil, errUnknown
	}
	m.of.index++
	s := &pb.StatusResponse{Header: m.header(), Version: m.version, DbSize: 20480, DbSizeInUse: 16384,
		DbSizeQuota: 2 << 30,
		RaftIndex:   m.of.index, RaftAppliedIndex: m.of.index, RaftTerm: m.of.term, StorageVersion: series(m.version),
		DowngradeInfo: &pb.DowngradeInfo{}}
	if m.of.leader != nil {
		s.Leader = m.of.leader.id
	}
	return s, nil
}

// list is the member list, which takes a majority.
func (d *databases) list(host string) (*pb.MemberListResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.members[host]
	if m == nil || !m.running {
		return nil, errUnknown
	}
	if m.of.leader == nil {
		return nil, rpctypes.ErrGRPCNoLeader
	}
	out := &pb.MemberListResponse{Header: m.header()}
	for _, o := range m.of.all {
		out.Members = append(out.Members, &pb.Member{ID: o.id, Name: o.name, PeerURLs: []string{o.peerURL},
			ClientURLs: []string{o.clientURL}})
	}
	return out, nil
}

// move hands leadership to another member.
func (d *databases) move(host string, to uint64) (*pb.MoveLeaderResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.members[host]
	if m == nil || !m.running {
		return nil, errUnknown
	}
	if m.of.leader != m {
		return nil, rpctypes.ErrGRPCNotLeader
	}
	for _, o := range m.of.all {
		if o.id == to && o.running {
			m.of.leader = o
			m.of.term++
			return &pb.MoveLeaderResponse{Header: m.header()}, nil
		}
	}
	return nil, rpctypes.ErrGRPCBadLeaderTransferee
}

// series is the version of a cluster whose members run version.
func series(version string) string {
	parts := strings.Split(version, ".")
	return strings.Join(append(parts[:min(2, len(parts))], "0"), ".")
}

// hostOf is the host of a URL without checks: they are all ours.
func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, ":")
	return host
}
