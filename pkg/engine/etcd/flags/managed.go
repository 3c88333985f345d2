package flags

import "slices"

// Reserved is a group of flags that a person may not set, and why.
type Reserved struct {
	Reason string
	Names  []string
}

var managed = []Reserved{
	{"a member's identity and addresses are part of how the cluster is made", []string{
		"name", "listen-peer-urls", "listen-client-urls", "listen-client-http-urls", "listen-metrics-urls",
		"initial-advertise-peer-urls", "advertise-client-urls",
	}},
	{"a wrong value makes a second cluster or keeps a member from joining", []string{
		"initial-cluster", "initial-cluster-state", "initial-cluster-token",
		"discovery", "discovery-fallback", "discovery-proxy", "discovery-srv", "discovery-srv-name",
		"discovery-endpoints", "discovery-token", "discovery-dial-timeout", "discovery-request-timeout",
		"discovery-keepalive-time", "discovery-keepalive-timeout", "discovery-insecure-transport",
		"discovery-insecure-skip-tls-verify", "discovery-cert", "discovery-key", "discovery-cacert",
		"discovery-user", "discovery-password",
	}},
	{"data and log stay on the member's own volume", []string{"data-dir", "wal-dir"}},
	{"certificates are issued and mounted by this tool", []string{
		"cert-file", "key-file", "client-cert-file", "client-key-file", "client-cert-auth", "client-crl-file",
		"trusted-ca-file", "auto-tls", "self-signed-cert-validity",
		"peer-cert-file", "peer-key-file", "peer-client-cert-file", "peer-client-key-file", "peer-client-cert-auth",
		"peer-crl-file", "peer-trusted-ca-file", "peer-auto-tls", "peer-cert-allowed-cn", "peer-cert-allowed-hostname",
		"peer-skip-client-san-verification", "experimental-peer-skip-client-san-verification",
	}},
	{"it guards the quorum (https://etcd.io/docs/v3.6/op-guide/runtime-reconf-design/)", []string{
		"strict-reconfig-check", "max-learners",
	}},
	{"a member that starts with it throws the others out (https://etcd.io/docs/v3.6/op-guide/recovery/)", []string{
		"force-new-cluster",
	}},
	{"it loses acknowledged writes", []string{"unsafe-no-fsync"}},
	{"corruption checks are always on", []string{
		"experimental-compact-hash-check-enabled", "experimental-initial-corrupt-check",
	}},
	{"the log goes to the pod's output", []string{
		"log-outputs", "enable-log-rotation", "log-rotation-config-json",
	}},
	{"a file would hide options from the checks before an upgrade", []string{"config-file"}},
	{"a member is no proxy", []string{
		"proxy", "proxy-dial-timeout", "proxy-failure-wait", "proxy-read-timeout",
		"proxy-refresh-interval", "proxy-write-timeout", "experimental-enable-v2v3",
	}},
}

// ManagedBecause says why a flag is not a person's to set.
func ManagedBecause(name string) (string, bool) {
	for _, group := range managed {
		if slices.Contains(group.Names, name) {
			return group.Reason, true
		}
	}
	return "", false
}

// Managed returns the flags that a person may not set, in groups.
func Managed() []Reserved { return slices.Clone(managed) }
