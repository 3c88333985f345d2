package client

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// observeTimeout is after how long a member counts as unreachable.
const observeTimeout = 3 * time.Second

// said is what one agent answered.
type said struct {
	name   string
	status api.Status
	// shown is the certificate that the agent showed, nil if it was not reached.
	shown *x509.Certificate
	err   error
}

// Observe implements engine.Session.
func (s *Session) Observe(ctx context.Context, members []string) engine.View {
	all := make([]said, len(members))
	var wg sync.WaitGroup
	for i, member := range members {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, observeTimeout)
			defer cancel()
			all[i].name = member
			var c *api.Client
			if c, all[i].err = s.client(member); all[i].err == nil {
				all[i].status, all[i].err = c.Status(ctx)
				all[i].shown = c.Shown()
			}
		})
	}
	wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = nil
	for _, a := range all {
		switch {
		case a.err != nil:
		case leads(a.status):
			s.answered = append([]string{a.name}, s.answered...)
		default:
			s.answered = append(s.answered, a.name)
		}
	}
	return s.view(all)
}

// leads reports whether the agent leads its group.
func leads(s api.Status) bool { return s.Quorum && s.Leader == s.Member }

// view puts the answers together. The word of who leads the agents counts first: another's may be older.
func (s *Session) view(all []said) engine.View {
	v := engine.View{Members: make([]engine.Member, 0, len(all))}
	var set protocol.SyncSet
	confirms := false // whether replicas confirm writes
	for _, a := range all {
		m := s.member(a)
		v.Members = append(v.Members, m)
		if m.ClusterID != "" && !slices.Contains(v.ClusterIDs, m.ClusterID) {
			v.ClusterIDs = append(v.ClusterIDs, m.ClusterID)
		}
		if a.err == nil && a.status.Quorum && a.status.Token == s.token && (!v.Quorum || leads(a.status)) {
			v.Quorum, v.MemberList, v.Retired = true, memberList(a.status), retired(a.status)
			v.Settings = agreed.Options(a.status.Settings)
			v.Candidates, v.Hold = candidates(a.status), hold(a.status)
			set, confirms = a.status.Set, a.status.Settings.Durability != protocol.Async
		}
		if from := a.status.Server.Source; a.err == nil && from != nil && (v.Source == nil || a.status.Server.Serving) {
			v.Source = source(*from)
		}
	}
	slices.Sort(v.ClusterIDs)
	for i := range v.Members {
		if m := &v.Members[i]; m.Role == engine.RoleReplica && m.Serving && m.Settling == "" && confirms &&
			!holds(set, m.ID) {
			m.Settling = "does not confirm writes yet"
		}
	}
	return v
}

// holds reports whether a copy of the member may confirm writes.
func holds(set protocol.SyncSet, member string) bool {
	return slices.ContainsFunc(set.Standbys, func(c protocol.Standby) bool { return string(c.Member) == member })
}

// recently is how long ago a member that may be given a vote was heard of, at most.
const recently = 3 * time.Second

// memberList is the group's. Who is about to be given a vote is still joining: until then the group has fewer voters
// than its members allow, and the next loss may be one too many.
func memberList(s api.Status) []engine.Registered {
	var data, witnesses, voters int
	whole := map[protocol.MemberID]bool{}
	for _, m := range s.Members {
		switch {
		case m.Leaving:
		case m.Witness:
			witnesses++
		default:
			data++
		}
		if m.Voter {
			voters++
		} else if !m.Leaving && m.Joined && (m.Witness || m.Volume != "") {
			whole[m.ID] = true
		}
	}
	votes, candidates := agreed.Votes(data, witnesses), 0
	for _, m := range s.Members {
		if whole[m.ID] && m.Heard >= 0 && m.Heard < recently && (!m.Witness || votes > data) {
			candidates++
		}
	}
	// To an odd number of voters votes are given by twos, as protocol.NextVote does it.
	soon := voters < votes && candidates > voters%2
	out := make([]engine.Registered, 0, len(s.Members))
	for _, m := range s.Members {
		out = append(out, engine.Registered{ID: string(m.ID), Name: string(m.ID), Voter: m.Voter, Witness: m.Witness,
			Spare: whole[m.ID] && !soon, Started: m.Joined})
	}
	return out
}

func retired(s api.Status) []string {
	var out []string
	for _, id := range s.Removed {
		out = append(out, string(id))
	}
	return out
}

// candidates are the members that reported how much they hold while the agents wait for a person. The one that holds
// the most is first.
func candidates(s api.Status) []engine.Candidate {
	if s.Phase != protocol.Sealed || s.Blocked == "" {
		return nil
	}
	order := slices.SortedFunc(maps.Keys(s.Reports), func(a, b protocol.MemberID) int {
		return cmp.Or(s.Reports[b].Position.Compare(s.Reports[a].Position), cmp.Compare(a, b))
	})
	out := make([]engine.Candidate, len(order))
	for i, id := range order {
		out[i] = engine.Candidate{Member: string(id), Loss: s.Reports[id].Loss.String()}
	}
	return out
}

// member is one answer in the words of the contract.
func (s *Session) member(a said) engine.Member {
	m := engine.Member{Name: a.name, Role: engine.RoleUnknown}
	if a.shown != nil {
		shown := engine.PresentedBy(a.shown)
		m.Certificate = &shown
	}
	if a.err != nil {
		m.Problem = a.err.Error()
		return m
	}
	st := a.status
	m.Reachable, m.ID, m.Version, m.Routing = true, string(st.Member), st.Version, st.Routing
	m.Pending, m.Held = st.Server.Pending, st.Server.Held
	m.DataBytes, m.QuotaBytes = st.Server.Measures.DataBytes, st.Server.Measures.MostBytes
	m.Disk = engine.Disk(st.Server.Disk)
	m.Closed = st.Server.Measures.Closed
	m.ArchivedUntil, m.ArchivedSince = st.Server.Measures.ArchivedUntil, st.Server.Measures.ArchivedSince
	m.Overridden = st.Server.Measures.Overridden
	m.Warnings, m.OnlyHere = st.Server.Measures.Warnings, st.Server.Measures.OnlyHere
	m.Stale = st.Server.Measures.Stale
	m.Warnings = append(slices.Clone(m.Warnings), unmeasured(st)...)
	if sync := synchronous(st); sync != "" {
		m.Readings = append(m.Readings, engine.Reading{Name: "sync", Value: sync})
	}
	for _, r := range st.Server.Measures.Readings {
		m.Readings = append(m.Readings, engine.Reading(r))
	}
	for _, o := range st.Server.Measures.Obstacles {
		m.Obstacles = append(m.Obstacles, engine.Obstacle(o))
	}
	for _, b := range st.Server.Bases {
		m.Bases = append(m.Bases, engine.BaseOf{Backup: b.Backup, Repository: b.Repository})
	}
	if st.System != "" {
		m.ClusterID = st.System + "@" + st.Token
	}
	if st.Phase == protocol.Serving {
		m.Leader = string(st.Primary)
	}
	own := slices.IndexFunc(st.Members, func(o api.Member) bool { return o.ID == st.Member })
	witness := own >= 0 && st.Members[own].Witness
	switch {
	case witness:
		m.Role, m.Serving = agreed.RoleWitness, st.Quorum
	case st.Server.Role == protocol.Primary:
		m.Role, m.Serving = engine.RolePrimary, st.Server.Serving
	case st.Server.Role == protocol.Replica:
		m.Role, m.Serving = engine.RoleReplica, streams(st)
		if st.Server.Unread {
			m.Settling = "has not read its log yet"
		}
	}
	if !st.Server.Unread && !witness && st.Server.Volume != "" {
		m.Position = agreed.Position(st.System, st.Server.Position.Timeline, st.Server.Position.Offset)
		m.Details = []engine.Reading{{Name: "timeline", Value: strconv.FormatUint(st.Server.Position.Timeline, 10)}}
	}
	for _, d := range st.Server.Measures.Details {
		m.Details = append(m.Details, engine.Reading(d))
	}
	m.Problem = s.problem(st, witness)
	return m
}

// unmeasured warns of what a server that runs did not tell: silence is no sign that there is nothing.
func unmeasured(s api.Status) (out []string) {
	if s.Server.Role == protocol.Stopped {
		return nil // that is the news
	}
	if why := s.Server.Measures.Stale; why != "" {
		out = append(out, "not measured: the server did not answer ("+why+"), and its warnings are those of before")
	}
	for _, what := range s.Server.Measures.Missing {
		out = append(out, "not measured: "+what)
	}
	return out
}

// synchronous says of the primary how many of which number of replicas must confirm a write, and of a replica whether
// it is one of them; "" without a primary, and of a witness.
func synchronous(s api.Status) string {
	switch {
	case s.Phase != protocol.Serving || s.Server.Volume == "":
		return ""
	case s.Primary == s.Member && s.Set.Need == 0:
		return "none"
	case s.Primary == s.Member:
		return fmt.Sprintf("%d of %d", s.Set.Need, len(s.Set.Standbys))
	case holds(s.Set, string(s.Member)):
		return "yes"
	}
	return "no"
}

// streams reports whether a replica follows the present primary.
func streams(s api.Status) bool {
	return s.Quorum && s.Phase == protocol.Serving && s.Server.Upstream == s.Primary &&
		s.Server.Generation == s.Generation
}

// problem says what is wrong with a member by its own word.
func (s *Session) problem(st api.Status, witness bool) string {
	var all []string
	if st.Token != "" && st.Token != s.token {
		all = append(all, "it belongs to another incarnation of the cluster")
	}
	if st.Server.Unfit != "" {
		all = append(all, "its data can't follow the primary: "+st.Server.Unfit)
	}
	if st.Blocked != "" && (st.Server.Role != protocol.Primary || !st.Server.Serving) {
		all = append(all, st.Blocked)
	}
	if len(all) == 0 && !witness && st.Server.Role != protocol.Stopped && st.Server.Settings != st.Settings.Version {
		all = append(all, "it has not taken the settings yet that the members agreed on")
	}
	if len(all) == 0 && !witness && st.Server.Role == protocol.Stopped && (st.System != "" || st.Server.Failing != "") {
		all = append(all, strings.TrimSuffix("its server does not run: "+st.Server.Failing, ": "))
	}
	return strings.Join(all, "; ")
}
