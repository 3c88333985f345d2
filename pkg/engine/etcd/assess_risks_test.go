package etcd

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

func TestAssessRisks(t *testing.T) {
	t.Parallel()
	good := engine.MemberConfig{Member: "a", TLS: true, PeerTLS: true, ClientCertificates: true,
		Options: map[string]string{"auto-compaction-retention": "1h"}}
	with := func(change func(*engine.MemberConfig)) engine.MemberConfig {
		trace := good
		change(&trace)
		return trace
	}
	on := engine.Member{Name: "a", Reachable: true, Version: "3.6.16", Auth: engine.AuthOn}
	running := func(version string) engine.Member {
		m := on
		m.Version = version
		return m
	}
	for name, c := range map[string]struct {
		trace  engine.MemberConfig
		member engine.Member
		// subject and words of the risk; none for "".
		subject, words string
		severe         bool
	}{
		"nothing wrong": {good, on, "", "", false},
		"lost writes": {good, running("3.5.4"), "version",
			"3.5.4 is older than 3.5.6, and it is known to be bad", true},
		"bad early minor": {good, running("3.6.1"), "version",
			"3.6.1 is older than 3.6.5, and it is known to be bad", true},
		"before the next": {good, running("3.5.20"), "version", "it must not go to 3.6 yet", false},
		"unknown":         {good, running("3.4.30"), "version", "etcd 3.4 is none of those", false},
		"no TLS":          {with(func(t *engine.MemberConfig) { t.TLS = false }), on, "clients", "plain text", false},
		"no fsync": {with(func(t *engine.MemberConfig) { t.Dangerous = []string{"unsafe-no-fsync"} }), on, "flags",
			"it loses acknowledged writes", true},
		"no compaction":  {with(func(t *engine.MemberConfig) { t.Options = nil }), on, "compaction", "no automatic", false},
		"hidden options": {with(func(t *engine.MemberConfig) { t.Options, t.Hidden = nil, "a file" }), on, "", "", false},
		"refused by 3.7": {with(func(t *engine.MemberConfig) {
			t.Options = map[string]string{"auto-compaction-retention": "1h", "experimental-memory-mlock": "true"}
		}), on, "flags", "etcd 3.7 does not start with --experimental-memory-mlock", false},
		"managed by us": {with(func(t *engine.MemberConfig) {
			t.Options = map[string]string{"auto-compaction-retention": "1h", "experimental-initial-corrupt-check": "true"}
		}), on, "flags", "experimental-initial-corrupt-check", false},
		"v2 server": {with(func(t *engine.MemberConfig) {
			t.Options = map[string]string{"auto-compaction-retention": "1h", "enable-v2": "true"}
		}), running("3.5.35"), "flags", "etcd 3.6 does not start with --enable-v2", false},
		"open to all": {with(func(t *engine.MemberConfig) { t.ClientCertificates = false }),
			engine.Member{Name: "a", Reachable: true, Version: "3.6.16", Auth: engine.AuthOff}, "access",
			"everybody who reaches",
			true},
		"certificates all": {good, engine.Member{Name: "a", Reachable: true, Version: "3.6.16", Auth: engine.AuthOff},
			"access", "each client certificate", false},
		"default quota": {good, engine.Member{Name: "a", Reachable: true, Version: "3.6.16", Auth: engine.AuthOn,
			DataBytes: 1900 * flags.Mebibyte}, "member a", "at 92% of its quota", true},
		"own quota": {with(func(t *engine.MemberConfig) {
			t.Options = map[string]string{"auto-compaction-retention": "1h", flags.QuotaOption: "8000000000"}
		}), engine.Member{Name: "a", Reachable: true, Version: "3.6.16", Auth: engine.AuthOn,
			DataBytes: 1900 * flags.Mebibyte}, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			risks := New().AssessRisks([]engine.MemberConfig{c.trace}, engine.View{Members: []engine.Member{c.member}})
			if c.subject == "" {
				if len(risks) > 0 {
					t.Errorf("risks %+v", risks)
				}
				return
			}
			for _, r := range risks {
				if r.Subject == c.subject && strings.Contains(r.What, c.words) && r.Severe == c.severe {
					return
				}
			}
			t.Errorf("no risk of %s says %q (severe: %v): %+v", c.subject, c.words, c.severe, risks)
		})
	}
}
