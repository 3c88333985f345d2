package control

import (
	"context"
	"fmt"
	"net"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// corefile answers for the cluster and denies that there is anything else:
// nothing outside is reachable, and a quick "no" is what a resolver needs to
// try the next search domain. Two blocks, because within one the denial would
// come first.
func corefile(at site.Site) []byte {
	return fmt.Appendf(nil, `%[1]s:53 in-addr.arpa:53 {
	bind %[2]s
	errors
	kubernetes %[1]s in-addr.arpa {
		kubeconfig %[3]s
		pods verified
		ttl 5
	}
}
.:53 {
	bind %[2]s
	template ANY ANY {
		rcode NXDOMAIN
	}
}
`, site.Domain, site.Host, KubeconfigOf(at, "coredns"))
}

// coreDNS runs on the host, on the address that kubelets hand to pods.
func coreDNS(at site.Site) (process.Spec, error) {
	if err := write(at.Config("Corefile"), corefile(at), 0o644); err != nil {
		return process.Spec{}, err
	}
	return spec(CoreDNS, at.Bin("coredns"), "-conf="+at.Config("Corefile")), nil
}

// Resolves asks the cluster's DNS for the one service that always exists.
func Resolves(ctx context.Context) error {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(site.Host, "53"))
	}}
	name := "kubernetes.default.svc." + site.Domain + "."
	addresses, err := resolver.LookupHost(ctx, name)
	if err != nil {
		return fmt.Errorf("ask the cluster's DNS for %s: %w", name, err)
	}
	if len(addresses) == 0 || addresses[0] != site.FirstService {
		return fmt.Errorf("the cluster's DNS says that %s is at %v, not at %s", name, addresses, site.FirstService)
	}
	return nil
}
