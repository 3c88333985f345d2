//go:build !linux

package boltfile

import "os"

// readAhead is left to the system.
func readAhead(*os.File, extent) {}
