package backup

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
)

// keepFlag is a number of backups, or an age; given twice it can be both.
type keepFlag struct{ of *v1alpha1.Retention }

var _ pflag.Value = keepFlag{}

// String implements pflag.Value.
func (k keepFlag) String() string {
	switch {
	case k.of == nil:
		return ""
	case k.of.KeepFor != "":
		return k.of.KeepFor
	case k.of.Keep > 0:
		return strconv.Itoa(int(k.of.Keep))
	}
	return ""
}

// Type implements pflag.Value.
func (keepFlag) Type() string { return "number or age" }

// Set implements pflag.Value. checkRetention judges whether what was typed makes sense.
func (k keepFlag) Set(text string) error {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		k.of.Keep = int32(n)
		return nil
	}
	if _, err := backups.RetentionOf(v1alpha1.Retention{KeepFor: text}, ""); err != nil || text == "" {
		return fmt.Errorf("%q is neither a number of backups nor an age such as 36h, 7d or 4w", text)
	}
	k.of.KeepFor = text
	return nil
}

// retentionNames are the flags that say what is kept.
func retentionNames() []string {
	return []string{"keep", "keep-daily", "keep-weekly", "keep-monthly", "keep-yearly"}
}

// addRetention adds the flags that say which scheduled backups are kept.
func addRetention(cmd *cobra.Command, r *v1alpha1.Retention) {
	f := cmd.Flags()
	f.Var(keepFlag{r}, "keep", "How many scheduled backups stay, such as 7, or for how long, such as 36h, 7d or 4w. "+
		"What any of the rules keeps stays; without one all do.")
	for _, p := range []struct {
		of           *int32
		flag, period string
	}{
		{&r.KeepDaily, "keep-daily", "days"}, {&r.KeepWeekly, "keep-weekly", "weeks"},
		{&r.KeepMonthly, "keep-monthly", "months"}, {&r.KeepYearly, "keep-yearly", "years"},
	} {
		f.Int32Var(p.of, p.flag, 0, "Keep the newest scheduled backup of each of so many "+p.period+".")
	}
}

// checkRetention judges what was typed.
func checkRetention(r v1alpha1.Retention) error {
	if _, err := backups.RetentionOf(r, ""); err != nil {
		return exit.Misuse("%v", err)
	}
	return nil
}
