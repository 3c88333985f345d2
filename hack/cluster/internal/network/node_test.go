package network

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

func TestInsideRoutesToAllOthers(t *testing.T) {
	lines := inside(3)
	routes := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "route add 10.90.") {
			routes++
		}
	}
	if routes != site.MaxNodes-1 {
		t.Errorf("%d routes to other nodes, want %d", routes, site.MaxNodes-1)
	}
	if !slices.Contains(lines, "route add 10.90.7.0/24 via 10.89.0.17") {
		t.Error("no route to node 7")
	}
	if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "10.90.3.0/24") }) {
		t.Error("a route to its own pods would send them away")
	}
}

func TestLinkNamesFit(t *testing.T) {
	if name := site.NodeLink(site.MaxNodes); len(name) > 15 {
		t.Errorf("the kernel takes 15 characters for an interface, not %q", name)
	}
}
