package node

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/control"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

const proxyName = "kube-proxy"

// proxyConfig has nftables do the work, in the node's own namespace, and
// leaves the kernel's limits for connections, which are the host's, alone.
func (n Node) proxyConfig() []byte {
	return fmt.Appendf(nil, `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: %q}
clusterCIDR: %q
hostnameOverride: %q
nodeIPOverride: [%q]
oomScoreAdj: 0
conntrack:
  maxPerCore: 0
  min: 0
  tcpEstablishedTimeout: 0s
  tcpCloseWaitTimeout: 0s
nftables:
  minSyncPeriod: 0.2s
`, control.KubeconfigOf(n.at, "proxy"), site.PodCIDR, n.Name, n.Address())
}

// proxy makes services work on the node.
func (n Node) proxy() process.Spec {
	return n.spec(proxyName, n.at.Bin("components"), "kube-proxy", "--config="+n.path("kube-proxy.yaml"))
}
