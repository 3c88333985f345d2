package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/debian"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/progress"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// limit bounds how long the releases may take; they take seconds unless the network is bad.
const limit = 10 * time.Minute

// Ensure makes those releases that are not in the cache yet. One that fails does not keep the others from being made.
func Ensure(ctx context.Context, at site.Site, releases []Release, log *progress.Log) error {
	var missing []Release
	var names []string
	for _, r := range releases {
		if _, ok := r.Find(at); !ok {
			missing, names = append(missing, r), append(names, r.Family+"-"+r.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	state := func() string { return "packages of Debian are downloaded" }
	return log.While(strings.Join(names, ", "), 30*time.Second, state, func() error {
		failures := make([]error, len(missing))
		var group errgroup.Group
		for i, r := range missing {
			group.Go(func() error {
				if err := r.build(ctx, at); err != nil {
					failures[i] = fmt.Errorf("make %s-%s from packages of Debian: %w", r.Family, r.Name, err)
				}
				return nil
			})
		}
		return errors.Join(group.Wait(), errors.Join(failures...))
	})
}

// build makes the tree aside. release.json comes last: with it the release is whole.
func (r Release) build(ctx context.Context, at site.Site) error {
	files, err := debian.Request{Suites: r.suites, Packages: r.recipe.packages, Without: r.recipe.without}.
		Fetch(ctx, r.dir(at, "apt"))
	if err != nil {
		return err
	}
	version, err := r.versionOf(files)
	if err != nil {
		return err
	}
	made, root := r.dir(at, "root.new"), r.dir(at, "root")
	if err := errors.Join(os.RemoveAll(r.dir(at, "release.json")), os.RemoveAll(made)); err != nil {
		return err
	}
	if err := debian.Unpack(ctx, files, made, r.leave); err != nil {
		return err
	}
	if err := r.try(ctx, made, version); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(root), os.Rename(made, root)); err != nil {
		return err
	}
	content, err := json.MarshalIndent(Built{Family: r.Family, Major: r.Major, Version: version,
		Image: r.recipe.image + ":" + version, Root: root, Stamp: r.stamp()}, "", "  ")
	if err != nil {
		return err
	}
	partial := r.dir(at, "release.json.new")
	return errors.Join(os.WriteFile(partial, content, 0o644), os.Rename(partial, r.dir(at, "release.json")),
		os.RemoveAll(r.dir(at, "apt")))
}

// try runs each program with the libraries of the tree alone: what a package is missing shows now and not in a pod.
func (r Release) try(ctx context.Context, root, version string) error {
	libraries := filepath.Join(root, "usr", "lib", "x86_64-linux-gnu")
	for _, program := range r.recipe.programs {
		out, err := exec.CommandContext(ctx, filepath.Join(libraries, "ld-linux-x86-64.so.2"), "--inhibit-cache",
			"--argv0", filepath.Base(program), "--library-path", libraries, filepath.Join(root, program),
			"--version").CombinedOutput()
		if err != nil || !strings.Contains(string(out), r.recipe.says) || !strings.Contains(string(out), version) {
			return fmt.Errorf("try %s of %s %s: %w: %s", program, r.Family, version, err, out)
		}
	}
	return nil
}
