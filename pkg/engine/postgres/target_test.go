package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestCheckTarget(t *testing.T) {
	t.Parallel()
	w := engine.LogWindow{Timeline: "2", Start: "0/2000028", End: "1/4000000"}
	gap := w
	gap.Gap = logName(2, 260)
	type target = v1alpha1.RecoveryTarget
	for name, test := range map[string]struct {
		window engine.LogWindow
		to, is target
		says   []string
	}{
		"a place": {w, target{LSN: "0/03abcdef", Exclusive: true},
			target{LSN: "0/3ABCDEF", Exclusive: true}, nil},
		"the backup's end": {w, target{LSN: "0/2000028"}, target{LSN: "0/2000028"}, nil},
		"in the backup": {w, target{LSN: "0/2000027"}, target{},
			[]string{"from 0/2000028 to before 1/4000000 on timeline 2"}},
		"behind the log": {w, target{LSN: "1/4000000"}, target{}, []string{"LSN 1/4000000 is outside"}},
		"behind a gap":   {gap, target{LSN: "1/5000000"}, target{}, []string{"000000020000000100000004 is missing"}},
		"no log": {engine.LogWindow{Timeline: "1"}, target{LSN: "0/3000000"}, target{},
			[]string{"no log is archived"}},
		"no place":             {w, target{LSN: "3000000"}, target{}, []string{`"3000000" is no place in the log`}},
		"a name":               {w, target{Name: "it's 100 % ü"}, target{Name: "it's 100 % ü"}, nil},
		"a long name":          {w, target{Name: strings.Repeat("ü", 32)}, target{}, []string{"has 64"}},
		"a name with a line":   {w, target{Name: "a\nb"}, target{}, []string{"is no name"}},
		"a name in no writing": {w, target{Name: "a\xff"}, target{}, []string{"is no name"}},
		"a transaction":        {w, target{Transaction: "4294967299"}, target{Transaction: "4294967299"}, nil},
		"in octal":             {w, target{Transaction: "0742"}, target{Transaction: "742"}, nil},
		"a word":               {w, target{Transaction: "last"}, target{}, []string{`"last" is no number`}},
		"none of a client":     {w, target{Transaction: "4294967296"}, target{}, []string{"is no number"}},
		"a moment":             {w, target{Time: "latest"}, target{Time: "latest"}, nil},
	} {
		got, err := New().CheckTarget(test.window, test.to)
		if got != test.is || (err == nil) != (test.says == nil) || err != nil && !errors.Is(err, engine.ErrRefused) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		for _, word := range test.says {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: got %v, want %q", name, err, word)
			}
		}
	}
}

// TestForwardSettings: the server refuses an empty target behind one that is set.
func TestForwardSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		to   v1alpha1.RecoveryTarget
		last [2]string
	}{
		"a moment": {v1alpha1.RecoveryTarget{Time: "2026-11-23T20:15:00.5Z"},
			[2]string{"recovery_target_time", "2026-11-23 20:15:00.5+00"}},
		"a place":       {v1alpha1.RecoveryTarget{LSN: "0/3000060"}, [2]string{"recovery_target_lsn", "0/3000060"}},
		"a name":        {v1alpha1.RecoveryTarget{Name: "here"}, [2]string{"recovery_target_name", "here"}},
		"a transaction": {v1alpha1.RecoveryTarget{Transaction: "742"}, [2]string{"recovery_target_xid", "742"}},
		"all":           {v1alpha1.RecoveryTarget{Time: "latest"}, [2]string{"recovery_target_inclusive", "on"}},
		"before": {v1alpha1.RecoveryTarget{Transaction: "742", Exclusive: true},
			[2]string{"recovery_target_xid", "742"}},
	} {
		got, err := Forward{Target: test.to}.settings()
		if err != nil || got[len(got)-1] != test.last {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		inclusive := "on"
		if test.to.Exclusive {
			inclusive = "off"
		}
		for _, one := range got {
			if one[0] == "recovery_target_inclusive" && one[1] != inclusive {
				t.Errorf("%s: inclusive is %s", name, one[1])
			}
		}
	}
	if _, err := (Forward{Target: v1alpha1.RecoveryTarget{Time: "noon"}}).settings(); err == nil {
		t.Error("noon is taken for a moment")
	}
}
