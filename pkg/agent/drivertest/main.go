//go:build linux

// Package drivertest runs drivers of engines in tests: their members reach each other, and there is no group.
package drivertest

import (
	"flag"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Main runs the tests of a package as a container runs an agent. It gives up root's rights: servers refuse to run with
// them. Processes that lose their parent become children of this one, as of a guard.
func Main(m *testing.M) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if os.Getuid() == 0 {
		flag.Parse()
		if err := flag.Set("test.testlogfile", ""); err != nil { // it is root's
			panic(err)
		}
		u, err := user.Lookup("nobody")
		if err != nil {
			panic(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := syscall.Setgroups(nil); err != nil {
			panic(err)
		}
		if err := syscall.Setresgid(gid, gid, gid); err != nil {
			panic(err)
		}
		if err := syscall.Setresuid(uid, uid, uid); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
