// Package flags knows the options of etcd, by version: which a person may set, to what
// values, and which the tool sets itself.
package flags

import "maps"

// Option is a flag of etcd that a person may set in spec.config, and the
// minor versions of etcd 3 that know it.
type Option struct {
	Since, Until int
	// Instead is what took its place.
	Instead string
	// Kind of value, and etcd's own default. TestDefaultsAreTheServers holds both
	// against the program.
	Kind     Kind
	Fallback string
	// Later is the default from 3.6 on, where it changed.
	Later string
}

// takes says what values an option has.
func (o Option) takes(k Kind, fallback string) Option {
	o.Kind, o.Fallback = k, fallback
	return o
}

// then gives the default from 3.6 on.
func (o Option) then(fallback string) Option {
	o.Later = fallback
	return o
}

// always is known to all supported versions, modern from 3.6 on. The
// experimental flags are gone in 3.7, which refuses to start with them:
// https://etcd.io/docs/v3.7/upgrades/upgrade_3_7/.
func always() Option { return Option{Since: 5, Until: 7} }
func modern() Option { return Option{Since: 6, Until: 7} }
func experimental(stable string) Option {
	return Option{Since: 5, Until: 6, Instead: "option " + stable}
}
func gated(feature string) Option {
	return Option{Since: 5, Until: 6, Instead: "option feature-gates with " + feature + "=true"}
}
func dropped() Option { return Option{Since: 5, Until: 5} }

// Find returns what is known of an option; false for one that is managed or
// unknown.
func Find(name string) (Option, bool) {
	o, ok := options[name]
	return o, ok
}

// All returns a copy of the options that a person may set, by name.
func All() map[string]Option { return maps.Clone(options) }

// options that a person may set. Everything else is managed or unknown.
var options = map[string]Option{
	"auth-token":                    always().takes(text(), "simple"),
	"auth-token-ttl":                always().takes(atLeast(1), "300"),
	ModeOption:                      always().takes(oneOf("periodic", "revision"), "periodic"),
	RetentionOption:                 always().takes(retention(), "0"),
	"backend-batch-interval":        always().takes(duration(), "100ms"),
	"backend-batch-limit":           always().takes(atLeast(1), "10000"),
	"backend-bbolt-freelist-type":   always().takes(oneOf("map", "array"), "map"),
	"bcrypt-cost":                   always().takes(integer(4, 31), "10"),
	"cipher-suites":                 always().takes(text(), ""),
	"client-cert-allowed-hostname":  always().takes(text(), ""),
	"cors":                          always().takes(text(), "*"),
	"election-timeout":              always().takes(integer(10, 50000), "1000"),
	"enable-grpc-gateway":           always().takes(boolean(), "true"),
	"enable-pprof":                  always().takes(boolean(), "false"),
	"grpc-keepalive-interval":       always().takes(duration(), "2h"),
	"grpc-keepalive-min-time":       always().takes(duration(), "5s"),
	"grpc-keepalive-timeout":        always().takes(duration(), "20s"),
	"heartbeat-interval":            always().takes(atLeast(1), "100"),
	"host-whitelist":                always().takes(text(), "*"),
	"initial-election-tick-advance": always().takes(boolean(), "true"),
	"log-level":                     always().takes(oneOf("debug", "info", "warn", "error", "panic", "fatal"), "info"),
	"logger":                        always().takes(oneOf("zap"), "zap"),
	"max-concurrent-streams":        always().takes(integer(1, 1<<32-1), "4294967295"),
	"max-request-bytes":             always().takes(byteCount(), "1572864"),
	"max-snapshots":                 always().takes(atLeast(0), "5"),
	"max-txn-ops":                   always().takes(atLeast(1), "128"),
	"max-wals":                      always().takes(atLeast(0), "5"),
	"metrics":                       always().takes(oneOf("basic", "extensive"), "basic"),
	"pre-vote":                      always().takes(boolean(), "true"),
	QuotaOption:                     always().takes(byteCount(), "2147483648"),
	"raft-read-timeout":             always().takes(duration(), "5s"),
	"raft-write-timeout":            always().takes(duration(), "5s"),
	"snapshot-count":                always().takes(atLeast(1), "100000").then("10000"),
	"socket-reuse-address":          always().takes(boolean(), "false"),
	"socket-reuse-port":             always().takes(boolean(), "false"),
	"tls-max-version":               always().takes(oneOf("", "TLS1.2", "TLS1.3"), ""),
	"tls-min-version":               always().takes(oneOf("TLS1.2", "TLS1.3"), "TLS1.2"),
	"v2-deprecation":                always().takes(text(), "not-yet").then("write-only"),

	"bootstrap-defrag-threshold-megabytes": modern().takes(atLeast(0), "0"),
	"compact-hash-check-time":              modern().takes(duration(), "1m"),
	"compaction-batch-limit":               modern().takes(atLeast(1), "1000"),
	"compaction-sleep-interval":            modern().takes(duration(), "10ms"),
	"corrupt-check-time":                   modern().takes(duration(), "0s"),
	"distributed-tracing-address":          modern().takes(text(), "localhost:4317"),
	"distributed-tracing-instance-id":      modern().takes(text(), ""),
	"distributed-tracing-sampling-rate":    modern().takes(integer(0, 1_000_000), "0"),
	"distributed-tracing-service-name":     modern().takes(text(), "etcd"),
	"downgrade-check-time":                 modern().takes(duration(), "5s"),
	"enable-distributed-tracing":           modern().takes(boolean(), "false"),
	FeatureGates:                           modern().takes(text(), ""),
	"log-format":                           modern().takes(oneOf("json", "console"), "json"),
	"memory-mlock":                         modern().takes(boolean(), "false"),
	"snapshot-catchup-entries":             modern().takes(atLeast(1), "5000"),
	"warning-apply-duration":               modern().takes(duration(), "100ms"),
	"watch-progress-notify-interval":       modern().takes(duration(), "10m"),
	"warning-unary-request-duration":       modern().takes(duration(), "300ms"),

	"experimental-bootstrap-defrag-threshold-megabytes": experimental(
		"bootstrap-defrag-threshold-megabytes").takes(atLeast(0), "0"),
	"experimental-compact-hash-check-time": experimental("compact-hash-check-time").takes(duration(), "1m"),
	"experimental-compaction-batch-limit":  experimental("compaction-batch-limit").takes(atLeast(1), "1000"),
	"experimental-compaction-sleep-interval": experimental("compaction-sleep-interval").takes(duration(),
		"10ms"),
	"experimental-corrupt-check-time": experimental("corrupt-check-time").takes(duration(), "0s"),
	"experimental-distributed-tracing-address": experimental("distributed-tracing-address").takes(text(),
		"localhost:4317"),
	"experimental-distributed-tracing-instance-id": experimental("distributed-tracing-instance-id").takes(text(), ""),
	"experimental-distributed-tracing-sampling-rate": experimental("distributed-tracing-sampling-rate").takes(integer(0,
		1_000_000), "0"),
	"experimental-distributed-tracing-service-name": experimental("distributed-tracing-service-name").takes(text(),
		"etcd"),
	"experimental-downgrade-check-time": experimental("downgrade-check-time").takes(duration(), "5s"),
	"experimental-enable-distributed-tracing": experimental("enable-distributed-tracing").takes(boolean(),
		"false"),
	"experimental-enable-lease-checkpoint":         gated("LeaseCheckpoint").takes(boolean(), "false"),
	"experimental-enable-lease-checkpoint-persist": gated("LeaseCheckpointPersist").takes(boolean(), "false"),
	"experimental-memory-mlock":                    experimental("memory-mlock").takes(boolean(), "false"),
	"experimental-snapshot-catchup-entries": experimental("snapshot-catchup-entries").takes(atLeast(1),
		"5000"),
	"experimental-stop-grpc-service-on-defrag":       gated("StopGRPCServiceOnDefrag").takes(boolean(), "false"),
	"experimental-txn-mode-write-with-shared-buffer": gated("TxnModeWriteWithSharedBuffer").takes(boolean(), "true"),
	"experimental-warning-apply-duration":            experimental("warning-apply-duration").takes(duration(), "100ms"),
	"experimental-warning-unary-request-duration": Option{Since: 6, Until: 6,
		Instead: "option warning-unary-request-duration"}.takes(duration(), "300ms"),
	"experimental-watch-progress-notify-interval": experimental("watch-progress-notify-interval").takes(duration(),
		"10m"),

	// The v2 server, gone in 3.6: https://etcd.io/docs/v3.6/upgrades/upgrade_3_6/.
	"enable-v2": dropped().takes(boolean(), "false"),
}
