package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// basedView is a primary and two replicas; each has bases, "" is none.
func basedView(bases ...[]engine.BaseOf) engine.View {
	v := engine.View{Quorum: true, ClusterIDs: []string{"7@t"}}
	for i, name := range []string{"db-1", "db-2", "db-3"} {
		m := engine.Member{Name: name, ID: name, Reachable: true, Serving: true, ClusterID: "7@t", Leader: "db-1",
			Role: engine.RoleReplica, Position: agreed.Position("7", 3, 10_000), Bases: bases[i]}
		if i == 0 {
			m.Role = engine.RolePrimary
		}
		v.Members = append(v.Members, m)
		v.MemberList = append(v.MemberList, engine.Registered{ID: name, Name: name, Voter: true, Started: true})
	}
	return v
}

func TestIncrementalSource(t *testing.T) {
	t.Parallel()
	base := func(backup, repository string) engine.BaseOf {
		return engine.BaseOf{Backup: backup, Repository: repository}
	}
	old, newer, other := base("db-20261121", "offsite"), base("db-20261122", "offsite"), base("db-20261123", "other")
	all := []engine.BaseOf{newer, other}
	on := map[string]string{"summarize_wal": "on"}
	for name, c := range map[string]struct {
		view    engine.View
		version string
		config  map[string]string
		want    engine.BaseOf
		refused string
		hint    string
	}{
		"a replica": {view: basedView(all, all, all), config: on,
			want: engine.BaseOf{Member: "db-2", Backup: "db-20261122", Repository: "offsite"}},
		"the newest": {view: basedView(all, []engine.BaseOf{old}, nil), config: on,
			want: engine.BaseOf{Member: "db-1", Backup: "db-20261122", Repository: "offsite"}},
		"another replica than for all": {view: basedView(nil, nil, all), config: on,
			want: engine.BaseOf{Member: "db-3", Backup: "db-20261122", Repository: "offsite"}},
		"spelled otherwise": {view: basedView(nil, all, nil), config: map[string]string{"summarize_wal": "True"},
			want: engine.BaseOf{Member: "db-2", Backup: "db-20261122", Repository: "offsite"}},
		"none here": {view: basedView([]engine.BaseOf{other}, []engine.BaseOf{other}, nil), config: on,
			refused: "no healthy member of db keeps", hint: "kubectl dbop backup db -n ns --repository offsite"},
		"off": {view: basedView(all, all, all), config: map[string]string{"summarize_wal": "off"},
			refused: "summarize_wal is off", hint: "kubectl dbop configure db --set summarize_wal=on -n ns"},
		"not set": {view: basedView(all, all, all), refused: "summarize_wal is off"},
		"old":     {view: basedView(all, all, all), version: "15.18", config: on, refused: "take 17 or later"},
	} {
		v := c.version
		if v == "" {
			v = "18.6"
		}
		cluster := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Version: v, Config: c.config}}
		cluster.Name, cluster.Namespace = "db", "ns"
		got, err := New().IncrementalSource(c.view, cluster, "offsite")
		if got != c.want || (c.refused == "") != (err == nil) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		refusal, _ := errors.AsType[*engine.Refusal](err)
		if c.refused != "" && (refusal == nil || !strings.Contains(refusal.Reason, c.refused) ||
			!strings.Contains(refusal.Hint, c.hint)) {
			t.Errorf("%s: %+v", name, refusal)
		}
	}
	down := basedView(nil, all, nil)
	down.Members[1].Reachable = false
	cluster := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Version: "17.0", Config: on}}
	if got, err := New().IncrementalSource(down, cluster, "offsite"); err == nil {
		t.Errorf("a member that is down: %+v", got)
	}
}
