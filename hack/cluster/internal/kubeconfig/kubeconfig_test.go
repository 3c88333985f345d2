package kubeconfig

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/pki"
)

func TestRender(t *testing.T) {
	content := Config{
		Server: "https://10.89.0.1:6443", Authority: []byte("authority"), User: `system:node:"odd"`,
		Identity: pki.Pair{Cert: []byte("cert"), Key: []byte("key")},
	}.Render()
	parsed, err := clientcmd.Load(content)
	if err != nil {
		t.Fatalf("%v in\n%s", err, content)
	}
	used := parsed.Contexts[parsed.CurrentContext]
	if used == nil {
		t.Fatalf("no current context in\n%s", content)
	}
	cluster, user := parsed.Clusters[used.Cluster], parsed.AuthInfos[used.AuthInfo]
	if cluster == nil || cluster.Server != "https://10.89.0.1:6443" || string(cluster.CertificateAuthorityData) != "authority" {
		t.Errorf("cluster %+v", cluster)
	}
	if user == nil || string(user.ClientCertificateData) != "cert" || string(user.ClientKeyData) != "key" {
		t.Errorf("user %+v", user)
	}
}
