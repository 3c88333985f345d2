package pod

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// What --initial-cluster-state says; see DisableBootstrap.
const (
	stateFlag     = "--initial-cluster-state="
	stateNew      = "new"
	stateExisting = "existing"
)

// arguments renders etcd's command line: what is managed, then defaults and
// a person's options in the order of the alphabet.
func arguments(in engine.PodInput, v versions.Version) ([]string, error) {
	if err := flags.Lint(in.Cluster.Spec.Config, v); err != nil {
		return nil, err
	}
	free, err := flags.Effective(in.Cluster.Spec, v)
	if err != nil {
		return nil, err
	}
	// A copy of the pod in another namespace must not speak to the members of
	// this one, as whom it would come: addresses are of where the pod is.
	in.Cluster = in.Cluster.DeepCopy()
	in.Cluster.Namespace = "$(" + NamespaceVariable + ")"
	args := identity(in)
	if !in.Cluster.Spec.TLS.Disabled {
		args = append(args, certificates(in.Cluster, v)...)
	}
	args = append(args, learnerArgument(in.JoinLimit, v)...)
	for _, name := range slices.Sorted(maps.Keys(free)) {
		args = append(args, "--"+name+"="+free[name])
	}
	return args, nil
}

func identity(in engine.PodInput) []string {
	c := in.Cluster
	peers := make([]string, len(in.Peers))
	for i, member := range in.Peers {
		peers[i] = member + "=" + addresses.PeerURL(c, member)
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
		"--data-dir=" + DataDir,
		fmt.Sprintf("--listen-peer-urls=%s://%s:%d", addresses.Scheme(c), address, addresses.PeerPort),
		fmt.Sprintf("--listen-client-urls=%s://%s:%d", addresses.Scheme(c), address, addresses.ClientPort),
		// Plain text, so that probes need no client certificate.
		fmt.Sprintf("--listen-metrics-urls=http://%s:%d", address, addresses.MetricsPort),
		"--initial-advertise-peer-urls=" + addresses.PeerURL(c, in.Member),
		"--advertise-client-urls=" + addresses.ClientURL(c, in.Member),
		"--initial-cluster=" + strings.Join(peers, ","),
		stateFlag + state,
		"--initial-cluster-token=" + c.Status.Bootstrap.Token,
	}
}

// certificates are the same for clients and peers. Who is a peer, its
// certificate alone says: it holds the name of the cluster's service, which
// that of a user or of another cluster does not. Left to itself etcd would find
// the names in it and compare addresses, and refuse a joiner that DNS
// does not know yet, or a member that it knows by an old address
// (https://etcd.io/docs/v3.6/op-guide/security/, notes for TLS authentication).
func certificates(c *v1alpha1.DatabaseCluster, v versions.Version) []string {
	var args []string
	for _, side := range []string{"", "peer-"} {
		args = append(args,
			"--"+side+"cert-file="+TLSPath+"/tls.crt",
			"--"+side+"key-file="+TLSPath+"/tls.key",
			"--"+side+"trusted-ca-file="+TLSPath+"/ca.crt",
			"--"+side+"client-cert-auth=true",
		)
	}
	skip := "--peer-skip-client-san-verification=true"
	if v.Line().Less(versions.SchemaLine) {
		skip = "--experimental-peer-skip-client-san-verification=true"
	}
	return append(args, "--peer-cert-allowed-hostname="+v1alpha1.ClientHost(c.Name, c.Namespace), skip)
}
