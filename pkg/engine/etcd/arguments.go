package etcd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

const (
	featureGates    = "feature-gates"
	modeOption      = "auto-compaction-mode"
	retentionOption = "auto-compaction-retention"
)

// ourMode and ourRetention keep an hour of history.
const (
	ourMode      = "periodic"
	ourRetention = "1h"
)

// What --initial-cluster-state says; see Seal.
const (
	stateFlag     = "--initial-cluster-state="
	stateNew      = "new"
	stateExisting = "existing"
)

// ourGates are the feature gates that every cluster runs with from 3.6 on;
// etcd leaves them closed.
func ourGates() []string { return []string{"CompactHashCheck", "InitialCorruptCheck"} }

// arguments renders etcd's command line: what is managed, then defaults and
// a person's options in the order of the alphabet.
func arguments(in engine.PodInput, v version) ([]string, error) {
	if err := lint(in.Cluster.Spec.Config, v); err != nil {
		return nil, err
	}
	free, err := effective(in.Cluster.Spec, v)
	if err != nil {
		return nil, err
	}
	// A copy of the pod in another namespace must not speak to the members of
	// this one, as whom it would come: addresses are of where the pod is.
	in.Cluster = in.Cluster.DeepCopy()
	in.Cluster.Namespace = "$(" + namespaceVariable + ")"
	args := identity(in)
	if !in.Cluster.Spec.TLS.Disabled {
		args = append(args, certificates(in.Cluster, v)...)
	}
	for _, name := range slices.Sorted(maps.Keys(free)) {
		args = append(args, "--"+name+"="+free[name])
	}
	return args, nil
}

func identity(in engine.PodInput) []string {
	c := in.Cluster
	peers := make([]string, len(in.Peers))
	for i, member := range in.Peers {
		peers[i] = member + "=" + peerURL(c, member)
	}
	state := stateExisting
	if in.Bootstrap {
		state = stateNew
	}
	address := "0.0.0.0"
	if in.Loopback {
		address = "127.0.0.1"
	}
	return []string{
		"--name=" + in.Member,
		"--data-dir=" + dataDir,
		fmt.Sprintf("--listen-peer-urls=%s://%s:%d", scheme(c), address, peerPort),
		fmt.Sprintf("--listen-client-urls=%s://%s:%d", scheme(c), address, clientPort),
		// Plain text, so that probes need no client certificate.
		fmt.Sprintf("--listen-metrics-urls=http://%s:%d", address, metricsPort),
		"--initial-advertise-peer-urls=" + peerURL(c, in.Member),
		"--advertise-client-urls=" + clientURL(c, in.Member),
		"--initial-cluster=" + strings.Join(peers, ","),
		stateFlag + state,
		"--initial-cluster-token=" + c.Status.Bootstrap.Token,
	}
}

// certificates are the same for clients and peers. Who is a peer, its
// certificate alone says: it holds the name of the cluster's service, which
// that of a user or of another cluster does not. Left to itself etcd would look
// up the names in it and compare addresses, and turn away a joiner that DNS
// does not know yet, or a member that it knows by an old address
// (https://etcd.io/docs/v3.6/op-guide/security/, notes for TLS authentication).
func certificates(c *v1alpha1.DatabaseCluster, v version) []string {
	var args []string
	for _, side := range []string{"", "peer-"} {
		args = append(args,
			"--"+side+"cert-file="+tlsPath+"/tls.crt",
			"--"+side+"key-file="+tlsPath+"/tls.key",
			"--"+side+"trusted-ca-file="+tlsPath+"/ca.crt",
			"--"+side+"client-cert-auth=true",
		)
	}
	skip := "--peer-skip-client-san-verification=true"
	if v.line().less(schemaLine) {
		skip = "--experimental-peer-skip-client-san-verification=true"
	}
	return append(args, "--peer-cert-allowed-hostname="+v1alpha1.ClientHost(c.Name, c.Namespace), skip)
}

// Options implements engine.Renderer.
func (*Engine) Options(c *v1alpha1.DatabaseCluster, target string) (map[string]string, error) {
	v, err := supported(target)
	if err != nil {
		return nil, err
	}
	return effective(c.Spec, v)
}

// effective are the options of a member's process: our defaults, and a
// person's own on top. An option that is given etcd's own default is left out,
// as the process does the same with and without it: no member restarts for it.
func effective(spec v1alpha1.DatabaseClusterSpec, v version) (map[string]string, error) {
	out, err := defaults(spec, v)
	if err != nil {
		return nil, err
	}
	for name, value := range spec.Config {
		if _, ours := out[name]; !ours && value == options[name].usual(v) {
			continue
		}
		if name == featureGates {
			value = out[featureGates] + "," + value
		}
		out[name] = value
	}
	return out, nil
}

// defaults are ours where etcd's own don't suit: without compaction the
// history fills any quota, and the corruption checks are off.
func defaults(spec v1alpha1.DatabaseClusterSpec, v version) (map[string]string, error) {
	q, err := quota(spec)
	if err != nil {
		return nil, err
	}
	out := map[string]string{
		modeOption:      ourMode,
		retentionOption: ourRetention,
		quotaOption:     strconv.FormatInt(q, 10),
	}
	if v.line().less(schemaLine) {
		out["experimental-compact-hash-check-enabled"] = "true"
		out["experimental-initial-corrupt-check"] = "true"
		return out, nil
	}
	gates := ourGates()
	for i, gate := range gates {
		gates[i] = gate + "=true"
	}
	out[featureGates] = strings.Join(gates, ",")
	return out, nil
}
