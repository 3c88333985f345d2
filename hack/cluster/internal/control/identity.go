// Package control is the control plane: who its components are, how they are
// configured and started. It runs on the host, not in pods.
package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/kubeconfig"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/pki"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// authorityName is the base name of the authority's files.
const authorityName = "ca"

// certificates are those of the control plane, by base name of their files.
var certificates = map[string]pki.Subject{
	"etcd": {User: "etcd", IPs: []string{site.Host}},
	"apiserver": {User: "kube-apiserver", IPs: []string{site.Host, site.FirstService, "127.0.0.1"}, Hosts: []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + site.Domain,
	}},
	"aggregator":         {User: "kube-aggregator"},
	"apiserver-client":   {User: "kube-apiserver-client", Groups: []string{masters}},
	"controller-manager": {User: "kube-controller-manager", IPs: []string{site.Host}},
	"scheduler":          {User: "kube-scheduler", IPs: []string{site.Host}},
}

// masters is the group that may do everything without an observation of any role.
const masters = "system:masters"

// users have a kubeconfig each, in the config directory. Those that clusters
// can't do without for a while are masters: an API server that was just
// restarted answers before it has read the roles, and refuses. Elsewhere a
// load balancer asks first whether it is ready; here the watches of all
// controllers and of DNS would back off from it, for minutes in all.
var users = map[string]pki.Subject{
	"controller-manager": {User: "system:kube-controller-manager", Groups: []string{masters}},
	"scheduler":          {User: "system:kube-scheduler", Groups: []string{masters}},
	"proxy":              {User: "system:kube-proxy", Groups: []string{masters}},
	"coredns":            {User: "dbop:coredns", Groups: []string{masters}},
	"provisioner":        {User: "dbop:provisioner"},
}

// admin may do everything, in every namespace.
var admin = pki.Subject{User: "dbop:admin", Groups: []string{masters}}

// Prepare makes the authority and, with it, every certificate, key and
// kubeconfig of the control plane.
func Prepare(at site.Site) error {
	authority, err := pki.NewAuthority("dbop-cluster")
	if err != nil {
		return err
	}
	if err := authority.Pair().Write(at.PKI(""), authorityName); err != nil {
		return err
	}
	for name, subject := range certificates {
		pair, err := authority.Issue(subject)
		if err != nil {
			return err
		}
		if err := pair.Write(at.PKI(""), name); err != nil {
			return err
		}
	}
	for name, subject := range users {
		if err := writeKubeconfig(authority, subject, KubeconfigOf(at, name)); err != nil {
			return err
		}
	}
	if err := serviceAccountKey(at); err != nil {
		return err
	}
	return writeKubeconfig(authority, admin, at.Kubeconfig())
}

// KubeconfigOf is the path of the kubeconfig of a component.
func KubeconfigOf(at site.Site, component string) string {
	return at.Config(component + ".kubeconfig")
}

// Authority loads the authority of a cluster that exists.
func Authority(at site.Site) (*pki.Authority, error) {
	return pki.LoadAuthority(at.PKI(""), authorityName)
}

// Kubeconfig renders a kubeconfig for subject.
func Kubeconfig(authority *pki.Authority, subject pki.Subject) ([]byte, error) {
	pair, err := authority.Issue(subject)
	if err != nil {
		return nil, err
	}
	return kubeconfig.Config{
		Server: site.APIServer(), Authority: authority.Pair().Cert, User: subject.User, Identity: pair,
	}.Render(), nil
}

// writeKubeconfig stores a kubeconfig for root alone.
func writeKubeconfig(authority *pki.Authority, subject pki.Subject, path string) error {
	content, err := Kubeconfig(authority, subject)
	if err != nil {
		return err
	}
	return write(path, content, 0o600)
}

// serviceAccountKey makes the key pair for the tokens of service accounts.
func serviceAccountKey(at site.Site) error {
	private, public, err := pki.NewKey()
	if err != nil {
		return err
	}
	return errors.Join(write(at.PKI("sa.key"), private, 0o600), write(at.PKI("sa.pub"), public, 0o644))
}

// write stores a file and makes its directory.
func write(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make a directory of the control plane: %w", err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		return fmt.Errorf("write a file of the control plane: %w", err)
	}
	return nil
}
