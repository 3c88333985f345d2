package client

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// alarmText is an alarm in the errors of a status. Reading alarms there costs
// nothing and works without quorum; the call that lists alarms is a proposal
// to the whole cluster and writes to its log. Where etcd found that members
// differ and no majority agrees, it names none: the text has no member then.
var alarmText = regexp.MustCompile(`^(?:memberID:(\d+)\s+)?alarm:([A-Z]+)\s*$`)

// Causes of the alarms that etcd has.
var Causes = map[string]engine.Cause{
	pb.AlarmType_NOSPACE.String(): engine.CauseSpace,
	pb.AlarmType_CORRUPT.String(): engine.CauseDamage,
}

// alarmsFrom separates the alarms in a status from other errors. Every member
// lists those of all, and those of members that are no more.
func alarmsFrom(reported []string) (alarms []engine.Alarm, rest []string) {
	for _, e := range reported {
		match := alarmText.FindStringSubmatch(e)
		if match == nil {
			if e != noLeader {
				rest = append(rest, e)
			}
			continue
		}
		a := engine.Alarm{Name: match[2], Cause: Causes[match[2]]}
		if id, err := strconv.ParseUint(match[1], 10, 64); err == nil && id != 0 {
			a.MemberID = HexID(id)
		}
		alarms = append(alarms, a)
	}
	return alarms, rest
}

// gather adds what one member says of alarms to what others said.
func gather(known, said []engine.Alarm) []engine.Alarm {
	for _, a := range said {
		if !slices.Contains(known, a) {
			known = append(known, a)
		}
	}
	return known
}

// nameAlarms gives alarms the names of the members that they stand against: of
// the member list where there is one, which does not hold those that are no more.
func nameAlarms(v engine.View) {
	names := map[string]string{}
	for _, m := range v.Members {
		names[m.ID] = m.Name
	}
	if v.Quorum {
		clear(names)
	}
	for _, r := range v.MemberList {
		names[r.ID] = r.Name
	}
	for i, a := range v.Alarms {
		v.Alarms[i].Member = names[a.MemberID]
	}
	slices.SortFunc(v.Alarms, func(a, b engine.Alarm) int {
		return slices.Compare([]string{a.Name, a.Member, a.MemberID}, []string{b.Name, b.Member, b.MemberID})
	})
}

// ClearAlarms implements engine.AlarmClearer, by member and type: a request for all
// would take back one that was raised a moment ago.
func (s *Session) ClearAlarms(ctx context.Context, alarms []engine.Alarm) error {
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		for _, a := range alarms {
			var id uint64
			if a.MemberID != "" {
				var err error
				if id, err = parseID(a.MemberID); err != nil {
					return err
				}
			}
			kind, ok := pb.AlarmType_value[a.Name]
			if !ok || kind == int32(pb.AlarmType_NONE) {
				return fmt.Errorf("etcd has no alarm %q", a.Name)
			}
			if _, err := c.Client.AlarmDisarm(ctx,
				&clientv3.AlarmMember{MemberID: id, Alarm: pb.AlarmType(kind)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("disarm: %w", err)
	}
	return nil
}
