package helper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

const (
	// maxProblem keeps a report below what a kubelet takes for a last message, 4 KiB.
	maxProblem = 2 << 10
	// panicked is how a Go program ends that was brought down by what it read.
	panicked = 2
)

// ExamineOptions are what the command "helper examine" is told.
type ExamineOptions struct {
	// Dir is the data directory of a member that does not run. It is only read.
	Dir string
	// Report is where the result goes, the pod's termination log.
	Report string
	// Command examines Dir and prints engine.Remains. It is a process of its own,
	// because damaged data may bring down who reads it.
	Command []string
}

// Run examines and reports. That the data is damaged is a result; that the
// examination was killed, for want of memory perhaps, is none.
func (o ExamineOptions) Run(ctx context.Context) error {
	r, err := o.examine(ctx)
	if err == nil {
		r.Problem = r.Problem[:min(len(r.Problem), maxProblem)]
		var report []byte
		if report, err = json.Marshal(r); err == nil {
			err = os.WriteFile(o.Report, report, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("examine %s: %w", o.Dir, err)
	}
	return nil
}

func (o ExamineOptions) examine(ctx context.Context) (engine.DataDirInfo, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, o.Command[0], o.Command[1:]...) //nolint:gosec // this program itself
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	ended, ok := errors.AsType[*exec.ExitError](err)
	first, _, _ := strings.Cut(said.String(), "\n")
	switch {
	case err == nil:
		return ReadReport(out.String())
	case ok && ended.ExitCode() == panicked && strings.HasPrefix(first, "panic:"):
		return engine.DataDirInfo{Problem: "it brings down who reads it: " + first}, nil
	}
	return engine.DataDirInfo{}, fmt.Errorf("%w: %s", err, said.String())
}

// ReadReport is the other side of ExamineOptions.Run.
func ReadReport(message string) (engine.DataDirInfo, error) {
	var r engine.DataDirInfo
	if err := json.Unmarshal([]byte(message), &r); err != nil {
		return r, fmt.Errorf("read the report %.80q: %w", message, err)
	}
	return r, nil
}
