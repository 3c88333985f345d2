// Package kubeconfig renders kubeconfig files with everything inlined, so that
// one file is all that a client needs.
package kubeconfig

import (
	"encoding/base64"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/pki"
)

// Config is one cluster, one user and the context that joins them.
type Config struct {
	Server string
	// Authority is the PEM of the certificate authority.
	Authority []byte
	User      string
	Identity  pki.Pair
}

// Render is the file's content.
func (c Config) Render() []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: dbop
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %q
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: dbop
  context:
    cluster: dbop
    user: %q
current-context: dbop
`, c.Server, encode(c.Authority), c.User, encode(c.Identity.Cert), encode(c.Identity.Key), c.User)
}

// encode is the encoding that all "-data" fields have.
func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
