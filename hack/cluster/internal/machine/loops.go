package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Loops maps each loop device whose backing file is below dir to that file.
func Loops(dir string) (map[string]string, error) {
	backing, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, fmt.Errorf("list the loop devices: %w", err)
	}
	found := map[string]string{}
	for _, path := range backing {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // detached since it was listed
		}
		file := strings.TrimSuffix(strings.TrimSpace(string(content)), " (deleted)")
		if strings.HasPrefix(file, dir+"/") {
			device := filepath.Base(filepath.Dir(filepath.Dir(path)))
			found["/dev/"+device] = file
		}
	}
	return found, nil
}

// DetachLoops frees every loop device whose backing file is below dir.
func DetachLoops(dir string) error {
	loops, err := Loops(dir)
	if err != nil {
		return err
	}
	var failed error
	for device := range loops {
		if output, err := exec.Command("losetup", "-d", device).CombinedOutput(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("detach %s: %w: %s", device, err, strings.TrimSpace(string(output))))
		}
	}
	return failed
}
