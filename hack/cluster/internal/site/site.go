// Package site names every path and address of the cluster, so that no other
// package has to agree with a second one about them.
package site

import (
	"path/filepath"
)

// Site is where one cluster lives: what dies with it, what outlives it, and
// what it is built from.
type Site struct {
	// State holds everything that belongs to this cluster; `down` removes it.
	State string
	// Cache holds binaries and image archives; nothing but the user removes it.
	Cache string
	// Source is the directory of this module's go.mod.
	Source string
}

// Bin is the path of a program in the cache.
func (s Site) Bin(parts ...string) string {
	return filepath.Join(append([]string{s.Cache, "bin"}, parts...)...)
}

// Images is the directory of image archives in the cache.
func (s Site) Images() string { return filepath.Join(s.Cache, "images") }

// PKI is the path of a certificate or key.
func (s Site) PKI(name string) string { return filepath.Join(s.State, "pki", name) }

// Config is the path of a component's configuration file.
func (s Site) Config(name string) string { return filepath.Join(s.State, "config", name) }

// Kubeconfig is the administrator's, the one to hand to kubectl and tests.
func (s Site) Kubeconfig() string { return filepath.Join(s.State, "kubeconfig") }

// Logs is the directory that every component writes its own file into.
func (s Site) Logs() string { return filepath.Join(s.State, "logs") }

// Log is the log file of one component.
func (s Site) Log(component string) string { return filepath.Join(s.Logs(), component+".log") }

// PID is the file that remembers a component's process.
func (s Site) PID(component string) string { return filepath.Join(s.State, "pids", component) }

// Etcd is the data directory of the control plane's etcd.
func (s Site) Etcd() string { return filepath.Join(s.State, "etcd") }

// Volumes is where the provisioner keeps the disks of persistent volumes.
func (s Site) Volumes() string { return filepath.Join(s.State, "volumes") }

// Netns is where a node's network namespace is held open by a bind mount.
// Not /run/netns: `ip netns` remounts that as shared, after which namespaces
// of pods made earlier can't be removed any more.
func (s Site) Netns(node string) string { return filepath.Join(s.State, "netns", node) }

// Nodes is the directory that has one subdirectory a node.
func (s Site) Nodes() string { return filepath.Join(s.State, "nodes") }

// Node is the path of something that belongs to one node.
func (s Site) Node(node string, parts ...string) string {
	return filepath.Join(append([]string{s.Nodes(), node}, parts...)...)
}
