package valkey

import (
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed/pod"
)

const (
	// port is where the server takes clients, in the pod and on the services.
	port = 6379
	// user is the ID of the server's user in the images.
	user = 999
	// volume is where a member's volume is mounted.
	volume = "/data"
	// key is the field of the agent's configuration, for both engines.
	key = "valkey"
)

// Pod implements engine.Renderer.
func (e *Engine) Pod(in engine.PodInput) (engine.Pod, error) {
	config, err := settings(in.Cluster.Spec.Config)
	if err != nil {
		return engine.Pod{}, fmt.Errorf("render the pod of %s: %w", in.Member, err)
	}
	listen := "*"
	if in.Loopback {
		listen = "127.0.0.1"
	}
	return pod.Render(in, pod.Database{
		Container: e.Name(), User: user, Volume: volume, Port: port, Key: key, Settings: config, Sentinel: true,
		Config: map[string]any{"program": e.product.server, "listen": listen, "port": port},
	})
}

// DisableBootstrap implements engine.Renderer.
func (*Engine) DisableBootstrap(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return pod.DisableBootstrap(template)
}

// Ports implements engine.Renderer.
func (*Engine) Ports(c *v1alpha1.DatabaseCluster) []corev1.ServicePort {
	return append(pod.Ports(c, port), pod.SentinelPort())
}

// Way implements engine.ClientProgram.
func (*Engine) Way(*v1alpha1.DatabaseCluster) engine.ClientWay {
	return engine.ClientWay{Leader: true, Secrets: pod.MemoryPath}
}

// InPod implements engine.ClientProgram: the client program by the socket that only the server's own user can reach. It
// reads a password from a file into its environment: that of the user for persons is beside the socket, and stays.
func (e *Engine) InPod(_ *v1alpha1.DatabaseCluster, as engine.ClientLogin, args []string) []string {
	program := func(user string, more ...string) []string {
		return slices.Concat([]string{e.product.cli, "-s", pod.SocketsPath + "/server.sock", "--user", user}, more, args)
	}
	taken, file, user := `rm "$1" && `, as.PasswordFile, as.User.Name
	switch {
	case user == "":
		taken, file, user = "", pod.SocketsPath+"/password", "dbop-person"
	case file == "":
		return program(user, "--askpass")
	}
	script := `REDISCLI_AUTH=$(cat "$1") && ` + taken + `export REDISCLI_AUTH && shift && exec "$@"`
	return slices.Concat([]string{"sh", "-c", script, "sh", file}, program(user, "--no-auth-warning"))
}

// OnMachine implements engine.ClientProgram.
func (e *Engine) OnMachine(args []string, at engine.ClientEndpoint) engine.Program {
	host, number, _ := net.SplitHostPort(at.Address)
	program := engine.Program{Args: []string{e.product.cli, "-h", host, "-p", number, "--tls"}}
	if at.CAFile != "" {
		program.Args = append(program.Args, "--cacert", at.CAFile, "--cert", at.CertFile, "--key", at.KeyFile)
	} else {
		program.Args = append(program.Args, "--insecure")
	}
	if c := at.Credentials; c != nil {
		program.Args = append(program.Args, "--user", c.User, "--no-auth-warning")
		program.Env = append(program.Env, "REDISCLI_AUTH="+c.Password)
	}
	program.Args = append(program.Args, args...)
	return program
}
