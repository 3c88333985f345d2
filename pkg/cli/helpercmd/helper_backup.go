package helpercmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

func newHelperBackup(f *command.Factory) *cobra.Command {
	o := helper.BackupOptions{Tool: f.Build.Version, Now: f.Now}
	cmd := &cobra.Command{
		Use:   "backup --report FILE",
		Short: "Take one backup into an object store",
		Long: "Take one backup into an object store. What to back up is in the environment, and keys are in files " +
			"that are mounted: no right to the API is needed.",
		Example: `  # Take the backup that the environment asks for
  kubectl dbop helper backup --report /dev/termination-log`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := json.Unmarshal([]byte(f.Getenv(helper.EnvBackup)), &o.Request); err != nil || o.Request.Cluster == nil {
				return exit.Misuse("%s holds no request", helper.EnvBackup)
			}
			return takeBackup(helper.TellOutages(cmd.Context(), f.Verbatim), f, o)
		},
	}
	cmd.Flags().StringVar(&o.Report, "report", "", "File that takes the report.")
	return cmd
}

func takeBackup(ctx context.Context, f *command.Factory, o helper.BackupOptions) (err error) {
	saveMemory(f.Getenv)
	c := o.Request.Cluster
	d, secrets, err := bucket.ReadDirectory(helper.MountedRepository)
	if err != nil {
		return err
	}
	if o.Repository, err = bucket.Open(d, secrets, c.Namespace, helper.BackupStaging); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Repository.Close()) }()
	if o.Engine, err = f.EngineNamed(c.Spec.Engine); err != nil {
		return err
	}
	access, err := mountedAccess(c)
	if err != nil {
		return err
	}
	if o.Session, err = o.Engine.Connect(access); err != nil {
		return fmt.Errorf("connect to %s: %w", c.Name, err)
	}
	defer func() { err = errors.Join(err, o.Session.Close()) }()
	return o.Run(ctx)
}

// dialWithin bounds a connection to a member. One that is silent is dead after so many probes.
const (
	dialWithin = 5 * time.Second
	silence    = 5 * time.Second
	silences   = 3
)

// mountedAccess is how the administrator reaches the cluster from one of its neighbours, by files.
func mountedAccess(c *v1alpha1.DatabaseCluster) (engine.Access, error) {
	a := engine.Access{Cluster: c, Dial: func(ctx context.Context, pod string, port int) (net.Conn, error) {
		// The name may still lead to the address of a pod that was replaced, and a pod may go without a word.
		d := net.Dialer{Timeout: dialWithin, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence,
			Interval: silence, Count: silences}}
		host := fmt.Sprintf("%s.%s.%s.svc", pod, v1alpha1.HeadlessService(c.Name), c.Namespace)
		return d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	}}
	if !c.Spec.TLS.Disabled {
		s, err := mountedSecret(helper.BackupTLS)
		if err != nil {
			return a, err
		}
		if a.TLS, err = pki.TLSFromSecret(c, s); err != nil {
			return a, err
		}
	}
	a.Credentials = func(context.Context) ([]engine.Credentials, error) {
		s, err := mountedSecret(helper.BackupLogin)
		if err != nil {
			return nil, err
		}
		has, err := password.FromSecret(s)
		if err != nil {
			return nil, err
		}
		var out []engine.Credentials
		for _, p := range has.Usable() {
			out = append(out, engine.Credentials{User: p.User, Password: p.Password})
		}
		return out, nil
	}
	return a, nil
}

// mountedSecret reads a Secret that is mounted, by the names of its files.
func mountedSecret(dir string) (*corev1.Secret, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the secret at %s: %w", dir, err)
	}
	s := &corev1.Secret{Data: map[string][]byte{}}
	s.Name = filepath.Base(dir)
	for _, e := range entries {
		if e.Name()[0] == '.' { // how the kubelet replaces files at once
			continue
		}
		if s.Data[e.Name()], err = os.ReadFile(filepath.Clean(filepath.Join(dir, e.Name()))); err != nil {
			return nil, fmt.Errorf("read the secret at %s: %w", dir, err)
		}
	}
	return s, nil
}
