package build

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/progress"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Ensure builds those of the targets that are not up to date. What one that
// fails has compiled stays in the build cache of go.
//
// The compiler keeps all processors busy and the linker only one: the next
// target starts when the last program of the one before it is linked.
func Ensure(ctx context.Context, at site.Site, targets []Target, log *progress.Log) error {
	var stale []Target
	stamps := map[string]string{}
	for _, target := range targets {
		stamp, err := target.stamp(at)
		if err != nil {
			return err
		}
		if !target.fresh(at, stamp) {
			stale = append(stale, target)
			stamps[target.Name] = stamp
		}
	}
	if len(stale) == 0 {
		return nil
	}
	left := newCountdown(stale)
	log.Printf("building into %s: %s", at.Bin(), left)
	return log.While("build", 30*time.Second, left.String, func() error {
		group, ctx := errgroup.WithContext(ctx)
		for _, target := range stale {
			linking := make(chan struct{})
			compiled := sync.OnceFunc(func() { close(linking) })
			group.Go(func() error {
				defer compiled()
				if err := target.build(ctx, at, left, compiled); err != nil {
					return err
				}
				left.finish(target)
				return target.keep(at, stamps[target.Name])
			})
			select {
			case <-linking:
			case <-ctx.Done():
				return group.Wait()
			}
		}
		return group.Wait()
	})
}

// build runs the target's commands one after the other, and calls compiled
// when only the last linking is left.
func (t Target) build(ctx context.Context, at site.Site, left *countdown, compiled func()) error {
	for _, output := range t.outputs {
		if err := os.MkdirAll(filepath.Dir(at.Bin(output)), 0o755); err != nil {
			return fmt.Errorf("make the directory for %s: %w", output, err)
		}
	}
	for _, step := range t.steps {
		command := exec.CommandContext(ctx, "go", expand(step, at)...)
		command.Dir = filepath.Join(at.Source, t.dir)
		// The compiler's own garbage is collected less often: memory for time.
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOGC=200", "GOBIN="+at.Bin())
		output, err := follow(command, func(line string) {
			left.compiled(t)
			if line == t.last {
				compiled()
			}
		})
		if err != nil {
			return fmt.Errorf("build %s (in %s: go %v): %w\n%s",
				t.Name, command.Dir, command.Args[1:], err, process.LastLines(output, 15))
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

// follow runs a command, calls each for every line of its output as it comes,
// and returns all of it.
func follow(command *exec.Cmd, each func(line string)) (string, error) {
	read, write := io.Pipe()
	command.Stdout, command.Stderr = write, write
	var output strings.Builder
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			fmt.Fprintln(&output, lines.Text())
			each(lines.Text())
		}
		_, _ = io.Copy(io.Discard, read) // a line too long for the scanner must not block the command
	}()
	err := command.Run()
	_ = write.Close()
	<-ended
	return output.String(), err
}
