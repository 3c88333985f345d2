// Package cgroup makes, empties and removes the cluster's control groups.
//
// Every process of the cluster, the containers included, is in a group below
// Root, so that all of them can be found and killed even when nothing else is
// left to tell which they were.
package cgroup

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Root is the group above all others of the cluster.
const Root = "/dbop-cluster"

// Control is the group of the control plane's processes.
const Control = Root + "/control"

// Node is the group that a node's kubelet takes for the root of its machine.
func Node(name string) string { return Root + "/" + name }

// NodeHost is the group of a node's own processes: beside the pods, because a
// group of version 2 that has children must not have processes.
func NodeHost(name string) string { return Node(name) + "/host" }

// hierarchy is one mounted tree of groups.
type hierarchy struct {
	path        string
	unified     bool
	controllers []string
}

// hierarchies lists what is mounted: one on version 2, about ten on version 1.
func hierarchies() ([]hierarchy, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list the control group hierarchies: %w", err)
	}
	defer file.Close()
	return parseHierarchies(file)
}

// parseHierarchies reads the mountinfo format; see proc(5).
func parseHierarchies(mountinfo io.Reader) ([]hierarchy, error) {
	var found []hierarchy
	lines := bufio.NewScanner(mountinfo)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, source := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(source) < 3 || !strings.HasPrefix(fields[4], "/sys/fs/cgroup") {
			continue
		}
		switch source[0] {
		case "cgroup2":
			found = append(found, hierarchy{path: fields[4], unified: true})
		case "cgroup":
			found = append(found, hierarchy{path: fields[4], controllers: strings.Split(source[2], ",")})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the list of mounts: %w", err)
	}
	return found, nil
}

// tracker picks the hierarchy that remembers which processes are ours:
// version 2 where it is mounted at all, else the one that counts processes.
func tracker(all []hierarchy) (hierarchy, error) {
	if at := slices.IndexFunc(all, func(h hierarchy) bool { return h.unified }); at >= 0 {
		return all[at], nil
	}
	at := slices.IndexFunc(all, func(h hierarchy) bool { return slices.Contains(h.controllers, "pids") })
	if at < 0 {
		return hierarchy{}, fmt.Errorf("neither cgroup2 nor the pids controller is mounted below /sys/fs/cgroup")
	}
	return all[at], nil
}
