package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// removed are settings that people may have made, by the first major version that does not know them: a server does
// not start with them. They are what 'postgres --describe-config' of 15, 17 and 18 of Debian differs by, and what the
// release notes of 16 and 17 name besides (section "Migration").
func removed() map[string]int {
	return map[string]int{"vacuum_defer_cleanup_age": 16, "force_parallel_mode": 16, "db_user_namespace": 17,
		"old_snapshot_threshold": 17, "trace_recovery_messages": 17, "extension_destdir": 18}
}

// checkRemoved refuses a version that does not know all settings of a cluster. It never starts with them, and until
// then members would have been stopped.
func checkRemoved(v engine.View, spec v1alpha1.DatabaseClusterSpec, target string) error {
	to, ok := parse(target)
	if !ok {
		return nil // others refuse it
	}
	since := removed()
	for _, name := range slices.Sorted(maps.Keys(spec.Config)) {
		if first, gone := since[name]; gone && to.major >= first {
			return &engine.Refusal{Check: "settings",
				Reason: fmt.Sprintf("PostgreSQL %d does not know the setting %s any more", to.major, name),
				Hint:   "take it away first: kubectl dbop configure " + clusterName(v) + " --unset " + name}
		}
	}
	return nil
}

// clusterName is that in the names of the members: a view does not carry it otherwise.
func clusterName(v engine.View) string {
	for _, m := range v.Members {
		if i := strings.LastIndex(m.Name, "-"); i > 0 {
			return m.Name[:i]
		}
	}
	return "NAME"
}
