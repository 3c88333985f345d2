package backup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestRetentionFlags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want v1alpha1.Retention
	}{
		"none":      {},
		"a number":  {[]string{"--keep", "7"}, v1alpha1.Retention{Keep: 7}},
		"an age":    {[]string{"--keep", "7d"}, v1alpha1.Retention{KeepFor: "7d"}},
		"both":      {[]string{"--keep", "3", "--keep", "36h"}, v1alpha1.Retention{Keep: 3, KeepFor: "36h"}},
		"and weeks": {[]string{"--keep", "7d", "--keep-weekly", "4"}, v1alpha1.Retention{KeepFor: "7d", KeepWeekly: 4}},
	} {
		cmd, got := &cobra.Command{}, v1alpha1.Retention{}
		addRetention(cmd, &got)
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || checkRetention(got) != nil {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, wrong := range []string{"seven", "7x", "", "-7d"} {
		cmd, got := &cobra.Command{}, v1alpha1.Retention{}
		addRetention(cmd, &got)
		if err := cmd.ParseFlags([]string{"--keep", wrong}); err == nil {
			t.Errorf("%q keeps %+v", wrong, got)
		}
	}
	if checkRetention(v1alpha1.Retention{KeepDaily: -1}) == nil {
		t.Error("fewer than no days")
	}
}
