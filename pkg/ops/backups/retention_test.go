package backups

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

func TestRetentionOf(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		from v1alpha1.Retention
		want archive.Retention
	}{
		"all":     {},
		"a count": {v1alpha1.Retention{Keep: 7}, archive.Retention{Last: 7}},
		"hours":   {v1alpha1.Retention{KeepFor: "36h"}, archive.Retention{Within: 36 * time.Hour}},
		"days":    {v1alpha1.Retention{KeepFor: "7d"}, archive.Retention{Within: 7 * day}},
		"weeks":   {v1alpha1.Retention{KeepFor: "4w"}, archive.Retention{Within: 28 * day}},
		"in steps": {v1alpha1.Retention{KeepDaily: 1, KeepWeekly: 2, KeepMonthly: 3, KeepYearly: 4},
			archive.Retention{Daily: 1, Weekly: 2, Monthly: 3, Yearly: 4}},
	} {
		got, err := RetentionOf(c.from, "")
		c.want.Location = time.UTC
		if got.Location != time.UTC || err != nil {
			t.Errorf("%s: location %v, %v", name, got.Location, err)
		}
		got.Location, c.want.Location = nil, nil
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, wrong := range []v1alpha1.Retention{{Keep: -1}, {KeepYearly: -1}, {KeepFor: "7"}, {KeepFor: "d"},
		{KeepFor: "-7d"}, {KeepFor: "0d"}, {KeepFor: "7 days"}, {KeepFor: "99999999w"}} {
		if got, err := RetentionOf(wrong, ""); err == nil {
			t.Errorf("%+v is %+v", wrong, got)
		}
	}
	if _, err := RetentionOf(v1alpha1.Retention{}, "Europe/Atlantis"); err == nil {
		t.Error("a time zone that is none")
	}
}
