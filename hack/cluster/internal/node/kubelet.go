package node

import (
	"fmt"
	"os"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/control"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/pki"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

const kubeletName = "kubelet"

// kubeletConfig keeps several kubelets on one machine apart and keeps each
// from cleaning up: images were loaded by hand and can't be pulled again, and
// the disk is shared with everything else.
func (n Node) kubeletConfig() []byte {
	return fmt.Appendf(nil, `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %q}
authorization: {mode: Webhook}
tlsCertFile: %q
tlsPrivateKeyFile: %q
clusterDNS: [%q]
clusterDomain: %q
resolvConf: %q
containerRuntimeEndpoint: "unix://%s"
cgroupDriver: cgroupfs
cgroupRoot: %q
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
podLogsDir: %q
volumePluginDir: %q
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard:
  memory.available: 50Mi
  nodefs.available: "0%%"
  nodefs.inodesFree: "0%%"
  imagefs.available: "0%%"
nodeLeaseDurationSeconds: 16
`, n.at.PKI("ca.crt"), n.path("kubelet.crt"), n.path("kubelet.key"), site.Host, site.Domain, n.path("resolv.conf"),
		n.socket(), cgroup.Node(n.Name), n.path("pod-logs"), n.path("volume-plugins"))
}

// configureKubelet writes its files and gives it its certificate, which
// serves both ways: to the API server and from it.
func (n Node) configureKubelet() error {
	authority, err := control.Authority(n.at)
	if err != nil {
		return err
	}
	identity := pki.Subject{User: "system:node:" + n.Name, Groups: []string{"system:nodes"}}
	kubeconfig, err := control.Kubeconfig(authority, identity)
	if err != nil {
		return err
	}
	if err := n.write("kubelet.kubeconfig", kubeconfig); err != nil {
		return err
	}
	identity.IPs, identity.Hosts = []string{n.Address(), "127.0.0.1"}, []string{n.Name}
	pair, err := authority.Issue(identity)
	if err != nil {
		return err
	}
	if err := pair.Write(n.path(), kubeletName); err != nil {
		return err
	}
	// Empty: pods are to know the cluster's own DNS and nothing of the host's.
	if err := n.write("resolv.conf", nil); err != nil {
		return err
	}
	if err := os.MkdirAll(n.path("pod-logs"), 0o755); err != nil {
		return fmt.Errorf("make the directory for logs of pods: %w", err)
	}
	return n.write("kubelet.yaml", n.kubeletConfig())
}

// kubelet is the node's agent.
func (n Node) kubelet() process.Spec {
	return n.spec(kubeletName, n.at.Bin("components"), "kubelet",
		"--config="+n.path("kubelet.yaml"), "--kubeconfig="+n.path("kubelet.kubeconfig"),
		"--root-dir="+n.path("kubelet"), "--cert-dir="+n.path("kubelet-pki"),
		"--hostname-override="+n.Name, "--node-ip="+n.Address(),
	)
}
