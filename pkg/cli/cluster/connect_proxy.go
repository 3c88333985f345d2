package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
)

// throughProxy runs the client program of this machine.
func throughProxy(ctx context.Context, f *command.Factory, t *clients.Target, program engine.ClientProgram,
	member, user string, args []string) (err error) {
	name := program.OnMachine(nil, engine.ClientEndpoint{}).Args[0]
	path, err := exec.LookPath(name)
	if err != nil {
		return &ops.Error{Kind: ops.Failed, Check: "client-program", Err: err,
			Message: fmt.Sprintf("clients of %s must log in, for which %s has to run on this machine, and it is not in PATH",
				t.Cluster.Name, name),
			Hint: fmt.Sprintf("install %s; or see how to do it by hand: %s connect %s --no-exec", name, command.DisplayName,
				t.Cluster.Name)}
	}
	door, err := f.Clients.LocalProxy(ctx, t, member, user)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, door.Close()) }()
	run := program.OnMachine(args, door.At())
	cmd := exec.CommandContext(ctx, path, run.Args[1:]...) // #nosec G204 -- what the person typed
	cmd.Env = changed(os.Environ(), run.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f.Streams.In, f.Streams.Out, f.Streams.Err
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %s: %w", path, err)
	}
	defer f.Gently(func() { _ = cmd.Process.Signal(os.Interrupt) })()
	return programCode(f, cmd.Wait(), door)
}

// changed is an environment after changes, of which those without a value take
// a variable away: some programs complain of empty ones.
func changed(environment, changes []string) []string {
	for _, c := range changes {
		name, value, _ := strings.Cut(c, "=")
		environment = slices.DeleteFunc(environment, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		if value != "" {
			environment = append(environment, c)
		}
	}
	return environment
}

// programCode makes the exit code of the program our own; it has said why,
// except for what it can't know.
func programCode(f *command.Factory, err error, door clients.LocalProxy) error {
	failed, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	if why := door.Err(); why != nil {
		f.Note("note: %v", why)
	}
	if code := failed.ExitCode(); code > 0 {
		return exit.Outcome(code)
	}
	return exit.ErrInterrupted
}

// printProxy says how to do the same with kubectl, which keeps secrets out of it.
func printProxy(f *command.Factory, t *clients.Target, program engine.ClientProgram, pod, user string,
	args []string) error {
	at, err := executor.EndpointByHand(t.Engine, t.Cluster, user)
	if err != nil {
		return err
	}
	run := program.OnMachine(args, at)
	line := append(changed(nil, run.Env), command.Words(run.Args))
	_, port, _ := strings.Cut(at.Address, ":")
	fmt.Fprintf(f.Streams.Out, "kubectl port-forward -n %s pod/%s %s\n%s\n", t.Namespace, pod, port,
		strings.Join(line, " "))
	password := v1alpha1.PasswordSecret(t.Cluster.Name, cmp.Or(user, v1alpha1.AdminUser))
	switch {
	case t.Cluster.Spec.TLS.Disabled:
		f.Note("the password is in secret %s", password)
	case user != "":
		f.Note("the files are in secret %s, and the password is in secret %s", v1alpha1.ClientSecret(t.Cluster.Name),
			password)
	default:
		f.Note("the files are in secret %s", v1alpha1.AdminSecret(t.Cluster.Name))
	}
	return nil
}
