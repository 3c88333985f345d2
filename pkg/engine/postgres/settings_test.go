package postgres

import (
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestLint: a setting has one spelling here, and no other one passes for it.
func TestLint(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"work_mem":                  "",
		"pg_stat_statements.max":    "",
		"durability":                "",
		"wal_level":                 "choose replica or logical",
		"WAL_Level":                 "write wal_level",
		"recovery-min-apply-delay":  "leave it out",
		"Synchronous_Standby_Names": "leave it out",
		"work-mem":                  "write work_mem",
		"zero_damaged_pages":        "leave it out",
		"data_sync_retry":           "leave it out",
		"TimeZone":                  "write timezone",
	} {
		value := map[string]string{"durability": "strict"}[name]
		err := (&Engine{}).Lint(map[string]string{name: value}, "17.5")
		refusal, _ := errors.AsType[*engine.Refusal](err)
		if (want == "") != (err == nil) || want != "" && (refusal == nil || refusal.Hint != want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
