package helper

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// maxOutput bounds how much of a command's output an error carries: its
	// end, where programs say why they gave up.
	maxOutput = 16 << 10
	// lingerAfter is how long grandchildren may hold on to a dead command's output.
	lingerAfter = 5 * time.Second
)

// execute runs the argv without a shell, its tokens replaced. in may be nil.
func execute(ctx context.Context, argv []string, file, out string, in *os.File, output io.Writer) error {
	replace := strings.NewReplacer(FileToken, file, OutToken, out)
	args := make([]string, len(argv))
	for i, arg := range argv {
		args[i] = replace.Replace(arg)
	}
	said := &tail{most: maxOutput}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	both := io.MultiWriter(said, output)
	cmd.Stdout, cmd.Stderr = both, both
	if in != nil {
		cmd.Stdin = in
	}
	cmd.WaitDelay = lingerAfter
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return fmt.Errorf("%w: %s: %w\n%s", ErrCommand, args[0], err, said)
	}
	return nil
}

// tail keeps the end of what is written.
type tail struct {
	most    int
	kept    []byte
	dropped int
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.dropped += over
	}
	return len(p), nil
}

func (t *tail) String() string {
	if t.dropped > 0 {
		return fmt.Sprintf("(%d bytes left out) %s", t.dropped, t.kept)
	}
	return string(t.kept)
}
