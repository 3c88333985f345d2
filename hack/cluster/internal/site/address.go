package site

import "fmt"

// The addresses are fixed: one cluster a machine is what tests need, and
// fixed ones need no discovery. None of them leaves the machine.
const (
	// Bridge joins the nodes to each other and to the control plane.
	Bridge = "dbop0"
	// BridgeMAC is set by hand: a bridge otherwise takes the lowest address of
	// its ports, so a joining node would change it under everybody's ARP cache.
	BridgeMAC = "02:db:00:00:00:01"
	// LinkPrefix starts the name of the host's end of each node's cable.
	LinkPrefix = "dbop-n"

	// Host is the machine on the bridge: apiserver, etcd and DNS listen there.
	Host = "10.89.0.1"
	// APIPort is the API server's.
	APIPort = 6443
	// PodCIDR covers the pods of all nodes.
	PodCIDR = "10.90.0.0/16"
	// ServiceCIDR is where cluster IPs come from.
	ServiceCIDR = "10.96.0.0/16"
	// FirstService is the cluster IP of the service "kubernetes".
	FirstService = "10.96.0.1"
	// Domain is the cluster's DNS domain.
	Domain = "cluster.local"

	// MaxNodes bounds the routes that each node is given when it is made, so
	// that a node that joins later has to touch no other one.
	MaxNodes = 30
)

// APIServer is the URL that every client uses, in and out of pods.
func APIServer() string { return fmt.Sprintf("https://%s:%d", Host, APIPort) }

// NodeAddress is the address of node number index, which starts at 1.
func NodeAddress(index int) string { return fmt.Sprintf("10.89.0.%d", 10+index) }

// PodSubnet is where the pods of node number index get their addresses.
func PodSubnet(index int) string { return fmt.Sprintf("10.90.%d.0/24", index) }

// NodeLink is the host's end of the cable of node number index: taking it
// down is what cuts the node off.
func NodeLink(index int) string { return fmt.Sprintf("%s%d", LinkPrefix, index) }
