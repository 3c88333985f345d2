package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/pod"
)

var _ engine.ClientProgram = (*Engine)(nil)

// Way implements engine.ClientProgram.
func (*Engine) Way(c *v1alpha1.DatabaseCluster) engine.ClientWay {
	return engine.ClientWay{OnMachine: c.Spec.Auth.Enabled}
}

// InPod implements engine.ClientProgram. The server's certificate names every
// address that a member answers on, localhost among them.
func (*Engine) InPod(c *v1alpha1.DatabaseCluster, _ engine.ClientLogin, args []string) []string {
	if c.Spec.TLS.Disabled {
		return append([]string{"etcdctl", "--endpoints=http://localhost:2379"}, asked(args)...)
	}
	return append([]string{"etcdctl", "--endpoints=https://localhost:2379", "--cacert=" + pod.TLSPath + "/ca.crt",
		"--cert=" + pod.TLSPath + "/tls.crt", "--key=" + pod.TLSPath + "/tls.key"}, asked(args)...)
}

// OnMachine implements engine.ClientProgram. What a person has set in the
// environment for another cluster does not count.
func (*Engine) OnMachine(args []string, at engine.ClientEndpoint) engine.Program {
	login := engine.Credentials{}
	if at.Credentials != nil {
		login = *at.Credentials
	}
	scheme := "http://"
	if at.CAFile != "" {
		scheme = "https://"
	}
	return engine.Program{Args: append([]string{"etcdctl"}, asked(args)...), Env: []string{
		"ETCDCTL_ENDPOINTS=" + scheme + at.Address,
		"ETCDCTL_CACERT=" + at.CAFile, "ETCDCTL_CERT=" + at.CertFile, "ETCDCTL_KEY=" + at.KeyFile,
		"ETCDCTL_USER=" + login.User, "ETCDCTL_PASSWORD=" + login.Password,
	}}
}

// asked is what a person wants of etcdctl: without a word, to see the members.
func asked(args []string) []string {
	if len(args) == 0 {
		return []string{"member", "list", "--write-out=table"}
	}
	return args
}
