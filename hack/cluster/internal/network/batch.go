// Package network lays the cables: a bridge on the host and, for every node,
// a pair of virtual interfaces and the routes to its pods.
package network

import (
	"fmt"
	"os/exec"
	"strings"
)

// batch runs several `ip` commands in one process.
func batch(lines ...string) error {
	command := exec.Command("ip", "-batch", "-")
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("configure the network with ip(8): %w: %s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
