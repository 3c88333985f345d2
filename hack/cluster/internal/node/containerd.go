package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/archive"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/machine"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

const containerdName = "containerd"

// volatile is the directory of what a machine loses when it reboots. A node
// that comes back after a crash starts without it.
func (n Node) volatile(parts ...string) string {
	return n.path(append([]string{"run"}, parts...)...)
}

// socket is where the node's containerd listens.
func (n Node) socket() string { return n.volatile("containerd.sock") }

// containerdConfig has, beside the paths, what is particular here: pods may
// keep the oom score they inherit (setting a lower one needs a capability
// that sandboxes lack), and their network namespaces stay out of /run/netns.
func (n Node) containerdConfig() []byte {
	return fmt.Appendf(nil, `version = 2
root = %q
state = %q
disabled_plugins = [
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.internal.v1.tracing",
]
[grpc]
  address = %q
[ttrpc]
  address = %q
[plugins."io.containerd.internal.v1.opt"]
  path = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      Root = %q
`, n.path("containerd"), n.volatile("containerd"), n.socket(), n.socket()+".ttrpc", n.path("opt"),
		archive.Pause, machine.CNI, n.path("cni"), n.volatile("runc"))
}

// cniConfig connects each pod by a cable of its own to the node, which
// routes. A bridge would need the kernel to show bridged packets to the
// firewall, or services fail between two pods of one node.
func (n Node) cniConfig() []byte {
	return fmt.Appendf(nil, `{
  "cniVersion": "0.4.0",
  "name": "dbop-%s",
  "plugins": [{
    "type": "ptp",
    "ipMasq": false,
    "mtu": 1500,
    "ipam": {
      "type": "host-local",
      "dataDir": %q,
      "ranges": [[{"subnet": %q}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`, n.Name, n.path("ipam"), site.PodSubnet(n.Index))
}

// configureContainerd writes its files.
func (n Node) configureContainerd() error {
	for _, dir := range []string{n.path("cni"), n.volatile()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make a directory for containerd of node %s: %w", n.Name, err)
		}
	}
	if err := n.write("containerd.toml", n.containerdConfig()); err != nil {
		return err
	}
	return n.write("cni/10-dbop.conflist", n.cniConfig())
}

// containerd is the node's container runtime.
func (n Node) containerd() (process.Spec, error) {
	program, err := exec.LookPath("containerd")
	if err != nil {
		return process.Spec{}, fmt.Errorf("find containerd: %w", err)
	}
	return n.spec(containerdName, program, "--config", n.path("containerd.toml"), "--log-level", "warn"), nil
}

// listening is nil when containerd accepts connections.
func (n Node) listening(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", n.socket())
	if err != nil {
		return fmt.Errorf("reach containerd of node %s: %w", n.Name, err)
	}
	return connection.Close()
}

// spec starts a program in the node's namespace and group.
func (n Node) spec(name string, args ...string) process.Spec {
	return process.Spec{
		Name: n.component(name), Args: args, Netns: n.at.Netns(n.Name), Group: cgroup.NodeHost(n.Name),
	}
}
