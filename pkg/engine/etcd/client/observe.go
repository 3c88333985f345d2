package client

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

const (
	// ObserveTimeout is after how long a member counts as unreachable.
	ObserveTimeout = 3 * time.Second
	// consentTimeout is how long a majority may take to agree; without one the
	// question stays unanswered for seven seconds.
	consentTimeout = time.Second
)

// report is what one member says of itself, and its member list if a
// majority is behind it.
type report struct {
	member engine.Member
	listed []engine.Registered
	// alarms are all that the member knows of.
	alarms []engine.Alarm
	// downgrade is the one that is under way, as the leader says if it told.
	downgrade string
	told      bool
}

// Observe implements engine.Session. Nothing in it writes, not even to the
// cluster's log.
func (s *Session) Observe(ctx context.Context, members []string) engine.View {
	s.remember(members)
	said := make([]report, len(members))
	var wg sync.WaitGroup
	for i, member := range members {
		wg.Go(func() { said[i] = s.ask(ctx, member) })
	}
	wg.Wait()
	return viewFrom(said)
}

// viewFrom puts the members' words together. The leader's list counts first:
// another member's may have been read before it.
func viewFrom(said []report) engine.View {
	v := engine.View{Members: make([]engine.Member, 0, len(said)), DowngradeUnknown: true}
	ids := map[string]bool{}
	for _, t := range said {
		v.Members = append(v.Members, t.member)
		if t.member.ClusterID != "" && !ids[t.member.ClusterID] {
			ids[t.member.ClusterID] = true
			v.ClusterIDs = append(v.ClusterIDs, t.member.ClusterID)
		}
		if t.member.Serving && (!v.Quorum || t.member.Role.Leads()) {
			v.Quorum = true
			v.MemberList = t.listed
		}
		v.Alarms = gather(v.Alarms, t.alarms)
		if t.told {
			v.Downgrade, v.DowngradeUnknown = t.downgrade, false
		}
	}
	nameAlarms(v)
	slices.Sort(v.ClusterIDs)
	return v
}

// ask asks one member for its status, then at the same time for the version
// of the cluster and for the member list with the consent of a majority. A
// learner refuses the latter.
func (s *Session) ask(ctx context.Context, name string) report {
	ctx, cancel := context.WithTimeout(ctx, ObserveTimeout)
	defer cancel()
	t := report{member: engine.Member{Name: name, Role: engine.RoleUnknown}}
	err := s.With(name, func(c *Connection) bool {
		status, err := askStatus(ctx, c)
		if barred(err) {
			t.member = unauthenticated(ctx, c, name, err)
			return true
		}
		if err != nil {
			t.member.Problem = plain(err)
			t.member.Certificate = c.certificate(ctx)
			return false
		}
		t.member = memberFrom(name, status)
		t.alarms, _ = alarmsFrom(status.Errors)
		if t.member.QuotaBytes == 0 && !s.access.External {
			// 3.5 does not tell what it was started with.
			t.member.QuotaBytes, _ = flags.Quota(s.access.Cluster.Spec)
		}
		t.member.Certificate = c.certificate(ctx)
		var wg sync.WaitGroup
		var protocol, auth string
		if t.member.Role == engine.RoleLeader {
			wg.Go(func() {
				// What was not told stays unknown, which the rules that need it say.
				downgrade, err := announced(ctx, c, status)
				t.downgrade, t.told = downgrade, err == nil
			})
		}
		wg.Go(func() {
			// A version that was not told stays unknown, which the rules that need it say.
			if v, err := askVersions(ctx, c); err == nil {
				protocol = v.cluster()
			}
			auth = askAuth(ctx, c)
		})
		if t.member.Role != engine.RoleLearner {
			listed, err := s.askMemberList(ctx, c)
			t.listed, t.member.Serving = listed, err == nil
		}
		wg.Wait()
		t.member.Protocol, t.member.Auth = protocol, auth
		return true
	})
	if err != nil {
		t.member.Problem = err.Error()
	}
	return t
}

// unauthenticated is what a member shows of itself to somebody who can't log in:
// without quorum etcd lets nobody in by password.
func unauthenticated(ctx context.Context, c *Connection, name string, reason error) engine.Member {
	m := engine.Member{Name: name, Reachable: true, Role: engine.RoleUnknown, Problem: plain(reason), Auth: engine.AuthOn}
	if v, err := askVersions(ctx, c); err == nil {
		m.Version, m.Protocol = v.Server, v.cluster()
	}
	return m
}

// askMemberList reads the member list linearizably: a majority consented.
func (s *Session) askMemberList(ctx context.Context, c *Connection) ([]engine.Registered, error) {
	ctx, cancel := context.WithTimeout(ctx, consentTimeout)
	defer cancel()
	list, err := c.Client.MemberList(ctx)
	if err != nil {
		return nil, err
	}
	return s.memberListFrom(list), nil
}

// memberListFrom translates a member list, in the order of the members' numbers.
// An entry that has not started has no name yet: its peer URL tells it, else
// its ID means it.
func (s *Session) memberListFrom(list *clientv3.MemberListResponse) []engine.Registered {
	listed := make([]engine.Registered, 0, len(list.Members))
	for _, m := range list.Members {
		r := engine.Registered{ID: HexID(m.ID), Name: m.Name, Voter: !m.IsLearner, Started: m.Name != ""}
		if len(m.PeerURLs) > 0 {
			r.Address = m.PeerURLs[0]
		}
		if !r.Started {
			r.Name = cmp.Or(s.At.Member(r.Address), r.ID)
		}
		listed = append(listed, r)
	}
	slices.SortFunc(listed, func(a, b engine.Registered) int {
		return cmp.Or(cmp.Compare(addresses.Number(a.Name), addresses.Number(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return listed
}
