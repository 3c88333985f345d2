package operation

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestRemoveMemberResolve: how many members are wanted afterwards, also where the list is short of the one that is
// named already. A second observation says the same.
func TestRemoveMemberResolve(t *testing.T) {
	t.Parallel()
	unlist := func(s *ops.State, name string) {
		for i, r := range s.View.MemberList {
			if r.Name == name {
				s.View.MemberList = append(s.View.MemberList[:i:i], s.View.MemberList[i+1:]...)
				return
			}
		}
	}
	for _, row := range []struct {
		name    string
		wanted  int32
		members int
		gone    []string
		remove  string
		want    int32
	}{
		{"one of three", 3, 3, nil, "db-3", 2},
		{"the last one", 1, 1, nil, "db-1", 0},
		{"somebody took it from the list", 3, 3, []string{"db-3"}, "db-3", 2},
		{"somebody took it, and another joined since", 3, 4, []string{"db-3"}, "db-3", 3},
		{"what is left beside the last one", 1, 2, []string{"db-2"}, "db-2", 1},
		{"somebody took two", 5, 5, []string{"db-4", "db-5"}, "db-5", 4},
		{"no member at all", 3, 3, nil, "db-9", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := opstest.Well(row.members)
			s.Cluster.Spec.Members = row.wanted
			for _, name := range row.gone {
				unlist(&s, name)
			}
			o := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRemoveMember, Member: row.remove,
				SizeParameters: v1alpha1.SizeParameters{FromMembers: row.wanted}}
			RemoveMember{}.Default(&o, s.Cluster)
			for range 2 {
				err := RemoveMember{}.Resolve(opstest.Stub{}, &o, s)
				if o.Members != row.want || (err == nil) != (row.want > 0) {
					t.Errorf("%d members are wanted (%v), want %d", o.Members, err, row.want)
				}
			}
		})
	}
}
