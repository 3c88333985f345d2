package etcd

// option is a flag of etcd that a person may set in spec.config, and the
// minor versions of etcd 3 that know it.
type option struct {
	since, until int
	// instead is what took its place.
	instead string
}

// always is known to all supported versions, modern from 3.6 on. The
// experimental flags are gone in 3.7, which refuses to start with them:
// https://etcd.io/docs/v3.7/upgrades/upgrade_3_7/.
func always() option { return option{since: 5, until: 7} }
func modern() option { return option{since: 6, until: 7} }
func experimental(stable string) option {
	return option{since: 5, until: 6, instead: "option " + stable}
}
func gated(feature string) option {
	return option{since: 5, until: 6, instead: "option feature-gates with " + feature + "=true"}
}
func dropped() option { return option{since: 5, until: 5} }

// options that a person may set. Everything else is managed or unknown.
var options = map[string]option{
	"auth-token":                    always(),
	"auth-token-ttl":                always(),
	"auto-compaction-mode":          always(),
	"auto-compaction-retention":     always(),
	"backend-batch-interval":        always(),
	"backend-batch-limit":           always(),
	"backend-bbolt-freelist-type":   always(),
	"bcrypt-cost":                   always(),
	"cipher-suites":                 always(),
	"client-cert-allowed-hostname":  always(),
	"cors":                          always(),
	"election-timeout":              always(),
	"enable-grpc-gateway":           always(),
	"enable-pprof":                  always(),
	"grpc-keepalive-interval":       always(),
	"grpc-keepalive-min-time":       always(),
	"grpc-keepalive-timeout":        always(),
	"heartbeat-interval":            always(),
	"host-whitelist":                always(),
	"initial-election-tick-advance": always(),
	"log-level":                     always(),
	"logger":                        always(),
	"max-concurrent-streams":        always(),
	"max-request-bytes":             always(),
	"max-snapshots":                 always(),
	"max-txn-ops":                   always(),
	"max-wals":                      always(),
	"metrics":                       always(),
	"pre-vote":                      always(),
	quotaOption:                     always(),
	"raft-read-timeout":             always(),
	"raft-write-timeout":            always(),
	"snapshot-count":                always(),
	"socket-reuse-address":          always(),
	"socket-reuse-port":             always(),
	"tls-max-version":               always(),
	"tls-min-version":               always(),
	"v2-deprecation":                always(),

	"bootstrap-defrag-threshold-megabytes": modern(),
	"compact-hash-check-time":              modern(),
	"compaction-batch-limit":               modern(),
	"compaction-sleep-interval":            modern(),
	"corrupt-check-time":                   modern(),
	"distributed-tracing-address":          modern(),
	"distributed-tracing-instance-id":      modern(),
	"distributed-tracing-sampling-rate":    modern(),
	"distributed-tracing-service-name":     modern(),
	"downgrade-check-time":                 modern(),
	"enable-distributed-tracing":           modern(),
	featureGates:                           modern(),
	"log-format":                           modern(),
	"memory-mlock":                         modern(),
	"snapshot-catchup-entries":             modern(),
	"warning-apply-duration":               modern(),
	"watch-progress-notify-interval":       modern(),
	"warning-unary-request-duration":       modern(),

	"experimental-bootstrap-defrag-threshold-megabytes": experimental("bootstrap-defrag-threshold-megabytes"),
	"experimental-compact-hash-check-time":              experimental("compact-hash-check-time"),
	"experimental-compaction-batch-limit":               experimental("compaction-batch-limit"),
	"experimental-compaction-sleep-interval":            experimental("compaction-sleep-interval"),
	"experimental-corrupt-check-time":                   experimental("corrupt-check-time"),
	"experimental-distributed-tracing-address":          experimental("distributed-tracing-address"),
	"experimental-distributed-tracing-instance-id":      experimental("distributed-tracing-instance-id"),
	"experimental-distributed-tracing-sampling-rate":    experimental("distributed-tracing-sampling-rate"),
	"experimental-distributed-tracing-service-name":     experimental("distributed-tracing-service-name"),
	"experimental-downgrade-check-time":                 experimental("downgrade-check-time"),
	"experimental-enable-distributed-tracing":           experimental("enable-distributed-tracing"),
	"experimental-enable-lease-checkpoint":              gated("LeaseCheckpoint"),
	"experimental-enable-lease-checkpoint-persist":      gated("LeaseCheckpointPersist"),
	"experimental-memory-mlock":                         experimental("memory-mlock"),
	"experimental-snapshot-catchup-entries":             experimental("snapshot-catchup-entries"),
	"experimental-stop-grpc-service-on-defrag":          gated("StopGRPCServiceOnDefrag"),
	"experimental-txn-mode-write-with-shared-buffer":    gated("TxnModeWriteWithSharedBuffer"),
	"experimental-warning-apply-duration":               experimental("warning-apply-duration"),
	"experimental-warning-unary-request-duration":       {since: 6, until: 6, instead: "option warning-unary-request-duration"},
	"experimental-watch-progress-notify-interval":       experimental("watch-progress-notify-interval"),

	// The v2 server, gone in 3.6: https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/.
	"enable-v2": dropped(),
}
