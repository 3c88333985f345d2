//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// installed is the name of the program in a directory that it was installed into.
const installed = "dbop-agent"

// install copies this program into a directory. An init container does it, so that the agent runs in the image of a
// database. A repeat replaces the copy, also while it runs; a crash leaves the old copy or none. It is not waited for
// that the disk has it: where a machine loses power, its kubelet runs the init containers of a pod again.
func install(directory string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program of the agent: %w", err)
	}
	return installFrom(self, directory)
}

func installFrom(program, directory string) (err error) {
	to := filepath.Join(directory, installed)
	defer func() {
		if err != nil {
			err = fmt.Errorf("install the agent at %s: %w", to, err)
		}
	}()
	source, err := os.Open(program) //nolint:gosec // it is this program
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // it was read
	aside := to + ".part"
	defer os.Remove(aside) //nolint:errcheck // it was renamed, or could not be made
	if err := copyProgram(aside, source); err != nil {
		return err
	}
	return os.Rename(aside, to) //nolint:gosec // who starts it chose the directory
}

func copyProgram(to string, source io.Reader) error {
	target, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // who starts it chose it
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	// The umask would take bits away from the mode that a file is made with.
	return errors.Join(err, target.Chmod(0o755), target.Close())
}
