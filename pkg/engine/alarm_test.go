package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestWithoutAlarms(t *testing.T) {
	t.Parallel()
	full := engine.Alarm{Name: "FULL", Cause: engine.CauseSpace, MemberID: "1", Member: "db-1"}
	torn := engine.Alarm{Name: "TORN", Cause: engine.CauseDamage, MemberID: "1", Member: "db-1"}
	v := engine.View{Alarms: []engine.Alarm{full, torn}, Members: []engine.Member{{Name: "db-1",
		Alarms: []string{"FULL", "TORN"}}, {Name: "db-2"}}}
	for name, c := range map[string]struct {
		causes []engine.Cause
		want   []string
	}{
		"nothing":       {nil, []string{"FULL", "TORN"}},
		"space":         {[]engine.Cause{engine.CauseSpace}, []string{"TORN"}},
		"both":          {[]engine.Cause{engine.CauseSpace, engine.CauseDamage}, []string{}},
		"what is not":   {[]engine.Cause{engine.CauseUnknown}, []string{"FULL", "TORN"}},
		"the other one": {[]engine.Cause{engine.CauseDamage}, []string{"FULL"}},
	} {
		got := v.WithoutAlarms(c.causes...)
		if diff := cmp.Diff(c.want, got.Members[0].Alarms); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(v.Alarms, got.Alarms); diff != "" {
			t.Errorf("%s hides which there are: %s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{"FULL", "TORN"}, v.Members[0].Alarms); diff != "" {
		t.Errorf("the view itself was changed: %s", diff)
	}
	if diff := cmp.Diff([]engine.Alarm{torn}, v.Raised(engine.CauseDamage)); diff != "" {
		t.Error(diff)
	}
}
