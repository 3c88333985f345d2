// Package node is a worker: a network namespace with a container runtime, a
// kubelet and a kube-proxy of its own, on a cable that can be cut.
package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Node is what the driver remembers of one.
type Node struct {
	Name string `json:"name"`
	// Index decides the addresses and counts from 1.
	Index int `json:"index"`

	at site.Site
}

// names are what is a label, an interface and a directory at once.
var names = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// reserved names would collide with a control group of the control plane.
var reserved = []string{"control"}

// List reads the nodes of the cluster, by index.
func List(at site.Site) ([]Node, error) {
	entries, err := os.ReadDir(at.Nodes())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	var nodes []Node
	for _, entry := range entries {
		content, err := os.ReadFile(at.Node(entry.Name(), "node.json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // being made or removed when the driver was killed
		}
		if err != nil {
			return nil, fmt.Errorf("read what is known of node %s: %w", entry.Name(), err)
		}
		node := Node{at: at}
		if err := json.Unmarshal(content, &node); err != nil {
			return nil, fmt.Errorf("parse what is known of node %s: %w", entry.Name(), err)
		}
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return a.Index - b.Index })
	return nodes, nil
}

// Find picks a node by name.
func Find(at site.Site, name string) (Node, error) {
	nodes, err := List(at)
	if err != nil {
		return Node{}, err
	}
	known := make([]string, 0, len(nodes))
	for _, node := range nodes {
		if node.Name == name {
			return node, nil
		}
		known = append(known, node.Name)
	}
	return Node{}, fmt.Errorf("there is no node %q; there are %v", name, known)
}

// New registers a node under the first free index; nothing runs yet.
func New(at site.Site, name string) (Node, error) {
	if !names.MatchString(name) || slices.Contains(reserved, name) {
		return Node{}, fmt.Errorf("%q can't name a node: use up to 32 of a-z, 0-9 and -", name)
	}
	nodes, err := List(at)
	if err != nil {
		return Node{}, err
	}
	index := 1
	for slices.ContainsFunc(nodes, func(n Node) bool { return n.Index == index }) {
		index++
	}
	if index > site.MaxNodes {
		return Node{}, fmt.Errorf("there are %d nodes already, the most there can be", site.MaxNodes)
	}
	node := Node{Name: name, Index: index, at: at}
	content, err := json.Marshal(node)
	if err != nil {
		return Node{}, fmt.Errorf("encode node %s: %w", name, err)
	}
	if err := os.MkdirAll(node.path(), 0o755); err != nil {
		return Node{}, fmt.Errorf("make the directory of node %s: %w", name, err)
	}
	return node, node.write("node.json", content)
}

// Address is where the node's kubelet listens.
func (n Node) Address() string { return site.NodeAddress(n.Index) }

// component is the unique name of one of the node's own processes.
func (n Node) component(name string) string { return n.Name + "." + name }

// Alive reports whether all of the node's own processes run.
func (n Node) Alive() bool {
	for _, name := range []string{containerdName, kubeletName, proxyName} {
		if !process.Alive(n.at, n.component(name)) {
			return false
		}
	}
	return true
}

// path is a path below the node's directory.
func (n Node) path(parts ...string) string { return n.at.Node(n.Name, parts...) }

// write stores one of the node's files.
func (n Node) write(name string, content []byte) error {
	if err := os.WriteFile(n.path(name), content, 0o600); err != nil {
		return fmt.Errorf("write %s of node %s: %w", name, n.Name, err)
	}
	return nil
}
