package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/progress"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Ensure builds those of the targets that are not up to date.
func Ensure(ctx context.Context, at site.Site, targets []Target, log *progress.Log) error {
	warned := false
	for _, target := range targets {
		stamp, err := target.stamp(at)
		if err != nil {
			return err
		}
		if target.fresh(at, stamp) {
			continue
		}
		if !warned {
			log.Printf("building into %s; the first time, all of it takes about 12 minutes on 2 cores", at.Bin())
			warned = true
		}
		err = log.While("build "+target.Name, 30*time.Second, func() error { return target.build(ctx, at) })
		if err != nil {
			return err
		}
		if err := target.keep(at, stamp); err != nil {
			return err
		}
	}
	return nil
}

// build runs the target's commands one after the other: each keeps all
// processors busy by itself.
func (t Target) build(ctx context.Context, at site.Site) error {
	for _, output := range t.outputs {
		if err := os.MkdirAll(filepath.Dir(at.Bin(output)), 0o755); err != nil {
			return fmt.Errorf("make the directory for %s: %w", output, err)
		}
	}
	for _, step := range t.steps {
		command := exec.CommandContext(ctx, "go", expand(step, at)...)
		command.Dir = filepath.Join(at.Source, t.dir)
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOBIN="+at.Bin())
		var output bytes.Buffer
		command.Stdout, command.Stderr = &output, &output
		if err := command.Run(); err != nil {
			return fmt.Errorf("build %s (in %s: go %v): %w\n%s",
				t.Name, command.Dir, command.Args[1:], err, process.LastLines(output.String(), 15))
		}
	}
	for _, link := range t.links {
		if err := os.Remove(at.Bin(link)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replace %s: %w", link, err)
		}
		if err := os.Symlink(t.outputs[0], at.Bin(link)); err != nil {
			return fmt.Errorf("make %s another name of %s: %w", link, t.outputs[0], err)
		}
	}
	return nil
}
