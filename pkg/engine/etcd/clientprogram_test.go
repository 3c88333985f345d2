package etcd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestInPod(t *testing.T) {
	t.Parallel()
	c := &v1alpha1.DatabaseCluster{}
	want := "etcdctl --endpoints=https://localhost:2379 --cacert=/etc/etcd/tls/ca.crt --cert=/etc/etcd/tls/tls.crt " +
		"--key=/etc/etcd/tls/tls.key get k"
	if got := strings.Join(New().InPod(c, engine.ClientLogin{}, []string{"get", "k"}), " "); got != want {
		t.Error(got)
	}
	c.Spec.TLS.Disabled = true
	if got := strings.Join(New().InPod(c, engine.ClientLogin{}, nil),
		" "); got != "etcdctl --endpoints=http://localhost:2379 member list --write-out=table" {
		t.Error(got)
	}
}

func TestOnMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   engine.ClientEndpoint
		want []string
	}{
		"by certificate": {engine.ClientEndpoint{Address: "127.0.0.1:42", CAFile: "/a/ca", CertFile: "/a/crt",
			KeyFile: "/a/key"},
			[]string{"ENDPOINTS=https://127.0.0.1:42", "CACERT=/a/ca", "CERT=/a/crt", "KEY=/a/key", "USER=", "PASSWORD="}},
		"by password": {engine.ClientEndpoint{Address: "127.0.0.1:42",
			Credentials: &engine.Credentials{User: "root", Password: "s:cret"}},
			[]string{"ENDPOINTS=http://127.0.0.1:42", "CACERT=", "CERT=", "KEY=", "USER=root", "PASSWORD=s:cret"}},
	} {
		p := New().OnMachine([]string{"get", "k"}, c.at)
		for i := range p.Env {
			p.Env[i] = strings.TrimPrefix(p.Env[i], "ETCDCTL_")
		}
		if diff := cmp.Diff(engine.Program{Args: []string{"etcdctl", "get", "k"}, Env: c.want}, p); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
