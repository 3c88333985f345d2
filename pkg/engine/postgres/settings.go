package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/floors"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// walLevel is the setting of how much the log tells.
const walLevel = "wal_level"

// managed are settings that safety needs, or that follow from the pod. The agent gives them on the command line.
func managed() map[string]string {
	safety, place := "the agent needs it for safety", "it follows from the pod"
	damage := "the server would go on with damaged data"
	archive := "the option " + agreed.ArchiveRepository + " has the log archived"
	return map[string]string{
		"archive_cleanup_command": safety, "archive_command": archive, "archive_library": archive, "archive_mode": archive,
		"cluster_name": place, "config_file": place, "data_directory": place,
		"data_sync_retry": damage, "external_pid_file": place, "fsync": safety, "full_page_writes": safety,
		"hba_file": place, "hot_standby": safety,
		"ident_file": place, "ignore_checksum_failure": damage, "ignore_invalid_pages": damage,
		"lc_messages": "the agent reads the log", "listen_addresses": place,
		"log_destination": place, "logging_collector": place, "max_wal_senders": safety,
		"password_encryption": "passwords are kept as SCRAM", "port": place, "primary_conninfo": safety,
		"primary_slot_name": safety, "promote_trigger_file": safety, "recovery_end_command": safety,
		"recovery_min_apply_delay": safety, "recovery_target": safety, "recovery_target_lsn": safety,
		"recovery_target_name": safety, "recovery_target_time": safety, "recovery_target_timeline": safety,
		"recovery_target_xid": safety, "restart_after_crash": safety, "restore_command": safety, "ssl": place,
		"ssl_ca_file": place, "ssl_cert_file": place, "ssl_key_file": place, "ssl_min_protocol_version": safety,
		"superuser_reserved_connections": safety, "sync_replication_slots": safety,
		"synchronous_standby_names": "the agents agree on it", "unix_socket_directories": place,
		"unix_socket_permissions": safety, "wal_log_hints": safety,
		"wal_receiver_status_interval": safety, "wal_receiver_timeout": safety, "wal_retrieve_retry_interval": safety,
		"wal_sender_timeout": safety, "zero_damaged_pages": damage,
	}
}

// Lint implements engine.Renderer. Which settings a release knows, the server itself says.
func (*Engine) Lint(config map[string]string, _ string) error {
	kept := managed()
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if why, ok := kept[spell(name)]; ok {
			return &engine.Refusal{Check: "settings", Reason: fmt.Sprintf("the setting %s can't be changed: %s", name, why),
				Hint: "leave it out"}
		}
	}
	if level, set := config[walLevel]; set && level != "replica" && level != "logical" {
		return &engine.Refusal{Check: "settings", Reason: fmt.Sprintf("%s is %q, and replicas could not read the log",
			walLevel, level), Hint: "choose replica or logical"}
	}
	got, err := settings(config)
	if err != nil {
		return err
	}
	if err := checkCommit(got); err != nil {
		return err
	}
	if err := checkMessages(got.Values); err != nil {
		return err
	}
	if err := floors.CheckConnections(got.Values); err != nil {
		return &engine.Refusal{Check: "settings", Reason: err.Error(), Hint: "set max_connections higher"}
	}
	for _, name := range slices.Sorted(maps.Keys(got.Values)) {
		if spelled := spell(name); spelled != name {
			return &engine.Refusal{Check: "settings", Reason: fmt.Sprintf("the name of the setting %q has capitals or dashes",
				name), Hint: "write " + spelled}
		}
	}
	return nil
}

// spell writes the name of a setting in the one way that is taken here. The server reads capitals as small letters, and
// on its command line a dash as "_", but not in its file: such a file keeps it from starting.
func spell(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// Options implements engine.Renderer. None decides how a process starts: the agents agree on them, and have the server
// load them.
func (*Engine) Options(*v1alpha1.DatabaseCluster, string) (map[string]string, error) {
	return map[string]string{}, nil
}

// LiveOptions implements engine.LiveSettings.
func (*Engine) LiveOptions(spec v1alpha1.DatabaseClusterSpec) (map[string]string, error) {
	got, err := settings(spec.Config)
	return agreed.Options(got), err
}

var _ engine.FixedSettings = (*Engine)(nil)

// FixedOptions implements engine.FixedSettings.
func (*Engine) FixedOptions() []string { return agreed.FixedOptions() }

// AtStart implements engine.LiveSettings. The names are those that 'postgres --describe-config' of 15, 17 and 18 has in
// the context postmaster, without the managed ones.
func (*Engine) AtStart(version string, options []string) []string {
	late := []string{
		"autovacuum_freeze_max_age", "autovacuum_multixact_freeze_max_age", "autovacuum_worker_slots", "bonjour",
		"bonjour_name", "commit_timestamp_buffers", "data_sync_retry", "debug_io_direct", "dynamic_shared_memory_type",
		"event_source", "huge_page_size", "huge_pages", "ignore_invalid_pages", "io_max_combine_limit",
		"io_max_concurrency", "io_method", "jit_provider", "max_active_replication_origins", "max_connections",
		"max_files_per_process", "max_locks_per_transaction", "max_logical_replication_workers",
		"max_notify_queue_pages", "max_pred_locks_per_transaction", "max_prepared_transactions",
		"max_replication_slots", "max_worker_processes", "min_dynamic_shared_memory", "multixact_member_buffers",
		"multixact_offset_buffers", "notify_buffers", "old_snapshot_threshold", "reserved_connections",
		"serializable_buffers", "shared_buffers", "shared_memory_type", "shared_preload_libraries",
		"subtransaction_buffers", "trace_connection_negotiation", "track_activity_query_size", "track_commit_timestamp",
		"transaction_buffers", "unix_socket_group", "wal_buffers", "wal_decode_buffer_size", walLevel,
		"archive_mode", // by the option archive-repository
	}
	v, known := parse(version)
	var out []string
	for _, name := range options {
		// From 18 on autovacuum_worker_slots bounds the workers, and their number is loaded.
		early := name == "autovacuum_max_workers" && known && v.major < 18
		if early || slices.Contains(late, name) {
			out = append(out, name)
		}
	}
	return out
}

// LeaderFirst implements engine.LiveSettings: a server in recovery needs what the one had that wrote its log.
func (*Engine) LeaderFirst(have, want map[string]string) []string {
	return floors.Asked(have).Above(floors.Asked(want))
}

// Keeps implements engine.LiveSettings.
func (*Engine) Keeps(option string) string { return managed()[spell(option)] }

// ListOptions implements engine.OptionLister: those of the agents. The others, the server tells.
func (*Engine) ListOptions(string) ([]engine.Option, error) { return agreed.OwnOptions(), nil }

var _ engine.Followed = (*Engine)(nil)

// FollowedSettings implements engine.Followed: the log has to tell which rows change.
func (*Engine) FollowedSettings(spec v1alpha1.DatabaseClusterSpec) map[string]string {
	if spec.Config[walLevel] == "logical" {
		return nil
	}
	return map[string]string{walLevel: "logical"}
}
