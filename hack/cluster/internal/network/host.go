package network

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// CreateBridge makes the host's bridge, whose address the control plane has.
func CreateBridge() error {
	return batch(
		fmt.Sprintf("link add %s address %s type bridge", site.Bridge, site.BridgeMAC),
		fmt.Sprintf("addr add %s/24 dev %s", site.Host, site.Bridge),
		fmt.Sprintf("link set %s up", site.Bridge),
	)
}

// Links lists the host's interfaces that belong to the cluster; the routes go
// with them.
func Links() ([]string, error) {
	entries, err := os.ReadDir("/sys/class/net")
	if err != nil {
		return nil, fmt.Errorf("list the network interfaces: %w", err)
	}
	var found []string
	for _, entry := range entries {
		if name := entry.Name(); name == site.Bridge || strings.HasPrefix(name, site.LinkPrefix) {
			found = append(found, name)
		}
	}
	return found, nil
}

// RemoveLinks deletes what Links lists.
func RemoveLinks() error {
	links, err := Links()
	if err != nil {
		return err
	}
	var failed error
	for _, link := range links {
		failed = errors.Join(failed, removeLink(link))
	}
	return failed
}

// removeLink deletes one interface of the host, which may be gone or may go
// this moment: the kernel removes a cable when the namespace at its other end
// ends.
func removeLink(name string) error {
	err := batch("link delete " + name)
	if _, gone := net.InterfaceByName(name); gone != nil {
		return nil
	}
	return err
}
