package etcd

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

func TestObserveThroughFailures(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "obs", 3)
	members := f.names()
	f.form(series36, members...)

	var v engine.View
	f.eventually("the version of the cluster to be agreed", func() error { // later than that they are healthy
		if v = f.healthy(members...); v.Members[0].Protocol != "3.6.0" {
			return errVersion
		}
		return nil
	})
	if !v.Quorum || len(v.MemberList) != 3 || len(v.ClusterIDs) != 1 || New().Tolerates(v) != 1 {
		t.Fatalf("healthy view: quorum %v, roster %v, clusters %v, tolerates %d", v.Quorum, v.MemberList, v.ClusterIDs,
			New().Tolerates(v))
	}
	for _, m := range v.Members {
		if m.Version != versionOf(t, series36) || m.Protocol != "3.6.0" || m.QuotaBytes != flags.DefaultQuota ||
			m.DataBytes == 0 {
			t.Errorf("member %+v", m)
		}
	}

	l, _ := v.Leader()
	target := members[slices.IndexFunc(members, func(m string) bool { return m != l.Name })]
	f.kill(target)
	v = f.session.Observe(t.Context(), members)
	if m := v.Member(target); m.Reachable || m.Problem == "" || strings.Contains(m.Problem, "desc =") {
		t.Errorf("killed member: %+v", m)
	}
	if !v.Quorum || New().Tolerates(v) != 0 {
		t.Errorf("one down: quorum %v, tolerates %d", v.Quorum, New().Tolerates(v))
	}
	if err := New().CheckAdd(v); err == nil || !strings.Contains(err.Error(),
		"2 of 3 voters are connected and a cluster of 4 needs 3") {
		t.Errorf("add with one down: %v", err)
	}

	f.kill(l.Name)
	f.eventually("quorum lost", func() error {
		started := time.Now()
		v = f.session.Observe(t.Context(), members)
		if spent := time.Since(started); spent > 2*client.ObserveTimeout {
			t.Errorf("observing without quorum took %v", spent)
		}
		if v.Quorum {
			return errQuorum
		}
		return nil
	})
	if len(v.MemberList) != 0 || New().Tolerates(v) >= 0 {
		t.Errorf("two down: roster %v, tolerates %d", v.MemberList, New().Tolerates(v))
	}

	f.start(series36, target, false, members...)
	f.start(series36, l.Name, false, members...)
	f.healthy(members...)
}

var (
	errQuorum  = errors.New("there is still a quorum")
	errVersion = errors.New("the members have agreed on no version yet")
)

// TestObserveAlarms makes a database full and reads the alarm where it costs nothing.
func TestObserveAlarms(t *testing.T) {
	t.Parallel()
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "full", 1)
			f.cluster.Spec.Config = map[string]string{flags.QuotaOption: "1048576"}
			f.form(series, f.name(1))
			f.eventually("full", func() error {
				return f.put(f.name(1), "key", strings.Repeat("x", 300_000), "database space exceeded")
			})
			v := f.session.Observe(t.Context(), f.names())
			m := v.Member(f.name(1))
			if !slices.Equal(m.Alarms, []string{"NOSPACE"}) || m.Problem != "" || health(v, m.Name) == nil {
				t.Errorf("alarms %q, problem %q, health %v", m.Alarms, m.Problem, health(v, m.Name))
			}
			if want := []engine.Alarm{{Name: "NOSPACE", Cause: engine.CauseSpace, MemberID: m.ID,
				Member: m.Name}}; !slices.Equal(v.Alarms, want) {
				t.Errorf("alarms %+v, want %+v", v.Alarms, want)
			}
			if m.QuotaBytes != 1<<20 || New().Tolerates(v) != 0 {
				t.Errorf("quota %d, tolerates %d", m.QuotaBytes, New().Tolerates(v))
			}
			if err := New().CheckUpgrade(v, f.cluster.Spec, "3.7.3"); err == nil ||
				!strings.Contains(err.Error(), "NOSPACE") {
				t.Errorf("upgrade with an alarm: %v", err)
			}
		})
	}
}
