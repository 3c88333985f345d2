package machine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/progress"
)

// CNI is where Debian puts the plugins that connect pods.
const CNI = "/usr/lib/cni"

// requirement is a program and the Debian package that brings it.
type requirement struct{ program, pkg string }

// requirements is what the cluster executes besides its own programs.
var requirements = []requirement{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{CNI + "/ptp", "containernetworking-plugins"},
	{"nft", "nftables"},
	{"mkfs.xfs", "xfsprogs"},
	{"ip", "iproute2"},
	{"losetup", "mount"},
}

// systemDirs is where Debian keeps administrators' programs, which are not on
// everybody's PATH.
const systemDirs = "/usr/local/sbin:/usr/sbin:/sbin"

// ExtendPath makes sure that programs for root are found.
func ExtendPath() error {
	if err := os.Setenv("PATH", os.Getenv("PATH")+":"+systemDirs); err != nil {
		return fmt.Errorf("extend PATH: %w", err)
	}
	return nil
}

// Missing lists the Debian packages that are not installed but needed.
func Missing() []string {
	var packages []string
	for _, r := range requirements {
		if _, err := exec.LookPath(r.program); err != nil {
			packages = append(packages, r.pkg)
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

// Install installs what is missing, if anything is.
func Install(ctx context.Context, log *progress.Log) error {
	packages := Missing()
	if len(packages) == 0 {
		return nil
	}
	slow := func() string { return "apt-get is still at work" }
	return log.While(fmt.Sprintf("install Debian packages %v", packages), 20*time.Second, slow, func() error {
		if err := apt(ctx, "update"); err != nil {
			return err
		}
		return apt(ctx, append([]string{"install", "--yes", "--no-install-recommends"}, packages...)...)
	})
}

// apt runs apt-get without questions.
func apt(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, "apt-get", append([]string{"-qq"}, args...)...)
	command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		return fmt.Errorf("apt-get %v: %w\n%s", args, err, process.LastLines(output.String(), 10))
	}
	return nil
}
