package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// keep, in a pod, keeps what it reads in a file that only its own user may read, in the directory that is its argument,
// and prints where.
const keep = `umask 077 && file=$(mktemp "$1/connect.XXXXXX") && cat >"$file" && echo "$file"`

// forgetTime bounds the removal of a password that no program took.
const forgetTime = 10 * time.Second

// inPod runs the client program in a member's pod.
func inPod(ctx context.Context, f *command.Factory, t *clients.Target, program engine.ClientProgram, pod string,
	c connecting, args []string) error {
	login := engine.ClientLogin{Database: c.database}
	if c.user != "" {
		has, err := f.Clients.Passwords(ctx, t.Namespace, v1alpha1.PasswordSecret(t.Cluster.Name, c.user))
		if err != nil {
			return fmt.Errorf("read the password of user %s of %s: %w", c.user, t.Cluster.Name, err)
		}
		login.User = rules.UserNamed(ops.State{Cluster: t.Cluster}, c.user)
		login.User.Name = has.Current.User // a rotation may have given it another one
		login.PasswordFile, err = give(ctx, f, t, pod, program.Way(t.Cluster).Secrets, has.Current.Password)
		if err != nil {
			return fmt.Errorf("give the password of user %s to pod %s: %w", c.user, pod, err)
		}
	}
	err := f.Clients.Exec(ctx, t.Namespace, pod, program.InPod(t.Cluster, login, args), f.Streams,
		f.Streams.InTTY && f.Streams.OutTTY)
	if err != nil && login.PasswordFile != "" {
		forget(ctx, f, t, pod, login.PasswordFile)
	}
	return err
}

// give keeps a password in the memory of a pod, and returns the file. It gets there by the input of a program: the
// arguments of one may be in the log of the API server, and the input of the client program is the person's.
func give(ctx context.Context, f *command.Factory, t *clients.Target, pod, directory, password string) (string, error) {
	var out bytes.Buffer
	input := progress.Streams{In: strings.NewReader(password), Out: &out, Err: f.Streams.Err}
	err := f.Clients.Exec(ctx, t.Namespace, pod, []string{"sh", "-c", keep, "sh", directory}, input, false)
	file := strings.TrimSpace(out.String())
	if err == nil && file == "" {
		err = errors.New("it did not say where it is")
	}
	return file, err
}

// forget removes a password that the client program may not have taken; if it can't, it goes with the pod.
func forget(ctx context.Context, f *command.Factory, t *clients.Target, pod, file string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), forgetTime)
	defer stop()
	_ = f.Clients.Exec(ctx, t.Namespace, pod, []string{"rm", "-f", file},
		progress.Streams{Out: io.Discard, Err: io.Discard}, false)
}

// printInPod says how to do the same with kubectl: the program asks for the password of a user.
func printInPod(f *command.Factory, t *clients.Target, program engine.ClientProgram, pod string, c connecting,
	args []string) error {
	login := engine.ClientLogin{Database: c.database}
	if c.user != "" {
		login.User = rules.UserNamed(ops.State{Cluster: t.Cluster}, c.user)
		f.Note("the password is in secret %s", v1alpha1.PasswordSecret(t.Cluster.Name, c.user))
	}
	_, err := fmt.Fprintf(f.Streams.Out, "kubectl exec -it -n %s %s -- %s\n", t.Namespace, pod,
		command.Words(program.InPod(t.Cluster, login, args)))
	return err
}
