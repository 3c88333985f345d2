package agreed

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// releases has versions such as "15.18", of which the first number is the series.
type releases struct{}

func (releases) CompareVersions(a, b string) (int, bool) {
	return cmp.Compare(a, b), a != "" && b != ""
}

func (releases) Series(s string) string {
	series, _, _ := strings.Cut(s, ".")
	return series
}

// TestUpgradeOfAPair: a witness runs no server, so its version keeps nobody from an upgrade.
func TestUpgradeOfAPair(t *testing.T) {
	t.Parallel()
	rules := Rules{Versions: releases{}, MaxMembers: 9, MostLag: 1 << 20, NearEnough: 1 << 20}
	pair := func(first, second string) engine.View {
		v := engine.View{Quorum: true}
		for name, version := range map[string]string{"db-1": first, "db-2": second, "db-3": ""} {
			m := engine.Member{Name: name, ID: name, Reachable: true, Serving: true, Version: version, Leader: "db-1",
				Role: engine.RoleReplica}
			switch name {
			case "db-1":
				m.Role = engine.RolePrimary
			case "db-3":
				m.Role = RoleWitness
			}
			v.Members = append(v.Members, m)
			v.MemberList = append(v.MemberList, engine.Registered{ID: name, Name: name, Voter: true, Started: true,
				Witness: m.Role == RoleWitness})
		}
		return v
	}
	var spec v1alpha1.DatabaseClusterSpec
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"up":                   {rules.CheckUpgrade(pair("15.18", "15.18"), spec, "15.20"), nil},
		"down":                 {rules.CheckDowngrade(pair("15.20", "15.20"), spec, "15.18"), nil},
		"up, not down":         {rules.CheckUpgrade(pair("15.20", "15.18"), spec, "15.18"), engine.ErrRefused},
		"another series":       {rules.CheckUpgrade(pair("15.18", "15.18"), spec, "17.5"), engine.ErrRefused},
		"upgraded":             {rules.CheckUpgraded(pair("15.20", "15.20"), "15.20"), nil},
		"half way":             {rules.CheckUpgraded(pair("15.20", "15.18"), "15.20"), engine.ErrNotReady},
		"a version is unknown": {rules.CheckUpgrade(pair("15.18", ""), spec, "15.20"), engine.ErrRefused},
	} {
		if !errors.Is(c.err, c.want) || (c.want == nil) != (c.err == nil) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}
