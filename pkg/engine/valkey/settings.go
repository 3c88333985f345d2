package valkey

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// kept are beginnings of settings that safety needs, or that follow from the pod. The agent refuses the others of its
// own by their names.
func kept() map[string]string {
	safety, place := "the agent needs it for safety", "it follows from the pod"
	return map[string]string{
		"append": safety, "aof-load": safety, "aof-use": safety, "no-appendfsync": safety, "save": safety,
		"replicaof": safety, "slaveof": safety, "master": safety, "primary": safety, "replica-announce": safety,
		"slave-announce": safety, "replica-read-only": safety, "slave-read-only": safety,
		"min-replicas": "the agents agree on it", "min-slaves": "the agents agree on it",
		"enable-": safety, "cluster-": "cluster mode is not served", "aclfile": safety, "user": safety,
		"requirepass": "users have passwords: kubectl dbop user create", "rename-command": safety, "loadmodule": safety,
		"include": safety, "protected-mode": safety, "dir": place, "bind": place, "port": place, "tls-": place,
		"unixsocket": place, "daemonize": place, "supervised": place, "logfile": place,
		agreed.ReadonlyLag: "replicas of this engine don't tell how old their data is",
	}
}

// Keeps implements engine.LiveSettings.
func (*Engine) Keeps(option string) string {
	if option == "appendfsync" {
		return "" // it may be raised
	}
	all := kept()
	for _, beginning := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(strings.ToLower(option), beginning) {
			return all[beginning]
		}
	}
	return ""
}

// Lint implements engine.Renderer. Which settings a release knows, the server itself says.
func (e *Engine) Lint(config map[string]string, _ string) error {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if why := e.Keeps(name); why != "" {
			return &engine.Refusal{Check: "settings", Reason: fmt.Sprintf("the setting %s can't be changed: %s", name, why),
				Hint: "leave it out"}
		}
	}
	_, err := settings(config)
	return err
}

// ListOptions implements engine.OptionLister: those of the agents. The others, the server tells.
func (e *Engine) ListOptions(string) ([]engine.Option, error) {
	own := slices.DeleteFunc(agreed.OwnOptions(), func(o engine.Option) bool { return e.Keeps(o.Name) != "" })
	return append(own, engine.Option{Name: archiveTimeout, Kind: "duration", Allowed: "1s and more, or 0",
		Default: agreed.ArchiveTimeout}), nil
}

// Options implements engine.Renderer. None decides how a process starts: the agents agree on them, and have the server
// load them.
func (*Engine) Options(*v1alpha1.DatabaseCluster, string) (map[string]string, error) {
	return map[string]string{}, nil
}

// LiveOptions implements engine.LiveSettings.
func (*Engine) LiveOptions(spec v1alpha1.DatabaseClusterSpec) (map[string]string, error) {
	s, err := settings(spec.Config)
	return agreed.Options(s), err
}

var _ engine.FixedSettings = (*Engine)(nil)

// FixedOptions implements engine.FixedSettings.
func (*Engine) FixedOptions() []string { return agreed.FixedOptions() }

// AtStart implements engine.LiveSettings. The names are those that CONFIG SET of Redis 7.0 and 8.0, Valkey 8.1 and 9.1
// calls immutable, without the kept ones.
func (e *Engine) AtStart(version string, options []string) []string {
	late := []string{"always-show-logo", "aof-rewrite-cpulist", "aof_rewrite_cpulist", "bgsave-cpulist",
		"bgsave_cpulist", "bio-cpulist", "bio_cpulist", "databases", "disable-thp", "hash-seed", "io-threads",
		"io-threads-do-reads",
		"mptcp", "pidfile", "rdbchecksum", "repl-mptcp", "server-cpulist", "server_cpulist", "set-proc-title",
		"socket-mark-id", "syslog-enabled", "syslog-facility", "syslog-ident", "tcp-backlog"}
	v, known := parse(version)
	var out []string
	for _, name := range options {
		early := known && e.product.name == "valkey" && v[0] >= 9 && name == "io-threads"
		if !early && slices.Contains(late, name) {
			out = append(out, name)
		}
	}
	return out
}

// LeaderFirst implements engine.LiveSettings: a replica needs nothing that its primary has.
func (*Engine) LeaderFirst(map[string]string, map[string]string) []string { return nil }

// CheckCreate implements engine.Rules.
func (e *Engine) CheckCreate(spec v1alpha1.DatabaseClusterSpec, force bool) error {
	if err := e.Rules.CheckCreate(spec, force); err != nil {
		return err
	}
	if spec.TLS.Disabled {
		return &engine.Refusal{
			Check: "tls", Reason: "the agents of " + e.Name() + " know each other by their certificates",
			Hint: "leave --no-tls out",
		}
	}
	if !spec.Auth.Enabled {
		return &engine.Refusal{
			Check: "auth", Reason: "clients of " + e.Name() + " always log in", Hint: "set spec.auth.enabled",
		}
	}
	if v, ok := parse(spec.Version); ok && v[0] < e.product.oldest {
		return &engine.Refusal{
			Check: "version", Reason: fmt.Sprintf("%s %s is older than %d", e.Name(), spec.Version, e.product.oldest),
			Hint: "kubectl dbop engines lists the versions",
		}
	}
	return e.Lint(spec.Config, spec.Version)
}

// CheckSettings implements engine.Rules.
func (e *Engine) CheckSettings(_ engine.View, spec v1alpha1.DatabaseClusterSpec, _ bool) error {
	return e.Lint(spec.Config, spec.Version)
}
