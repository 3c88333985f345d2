package network

import (
	"fmt"
	"net"
	"os"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/netns"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Connect puts a node's namespace on the bridge and gives it its addresses
// and the routes to the pods of every other node there may ever be.
func Connect(namespace string, index int) error {
	link := site.NodeLink(index)
	err := batch(
		fmt.Sprintf("link add %s type veth peer name eth0 netns %s", link, namespace),
		fmt.Sprintf("link set %s master %s up", link, site.Bridge),
		fmt.Sprintf("route replace %s via %s dev %s", site.PodSubnet(index), site.NodeAddress(index), site.Bridge),
	)
	if err != nil {
		return fmt.Errorf("connect node %d: %w", index, err)
	}
	return netns.Do(namespace, func() error {
		if err := batch(inside(index)...); err != nil {
			return fmt.Errorf("set up the network inside node %d: %w", index, err)
		}
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
			return fmt.Errorf("let node %d forward the traffic of its pods: %w", index, err)
		}
		return nil
	})
}

// inside lists the commands for the node's own end.
func inside(index int) []string {
	lines := []string{
		"link set lo up",
		fmt.Sprintf("addr add %s/24 dev eth0", site.NodeAddress(index)),
		"link set eth0 up",
		"route add default via " + site.Host,
	}
	for other := 1; other <= site.MaxNodes; other++ {
		if other != index {
			lines = append(lines, fmt.Sprintf("route add %s via %s", site.PodSubnet(other), site.NodeAddress(other)))
		}
	}
	return lines
}

// Cut takes the node's cable out. Nobody is told: connections hang, as they
// do when a switch dies.
func Cut(index int) error {
	if err := batch("link set " + site.NodeLink(index) + " down"); err != nil {
		return fmt.Errorf("cut node %d off: %w", index, err)
	}
	return nil
}

// Reconnect puts the cable back. The route to the node's pods is on the bridge,
// so it stayed.
func Reconnect(index int) error {
	if err := batch("link set " + site.NodeLink(index) + " up"); err != nil {
		return fmt.Errorf("connect node %d again: %w", index, err)
	}
	return nil
}

// Disconnect removes the node's cable.
func Disconnect(index int) error {
	if err := removeLink(site.NodeLink(index)); err != nil {
		return fmt.Errorf("remove the cable of node %d: %w", index, err)
	}
	_ = batch("route flush " + site.PodSubnet(index))
	return nil
}

// Connected reports whether the node's cable is in.
func Connected(index int) bool {
	link, err := net.InterfaceByName(site.NodeLink(index))
	return err == nil && link.Flags&net.FlagUp != 0
}
