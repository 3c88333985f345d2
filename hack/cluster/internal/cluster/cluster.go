// Package cluster brings the whole up and down and is what the commands call.
package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/api"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/archive"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/control"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/pki"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/progress"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Cluster is one cluster on this machine, running or not.
type Cluster struct {
	site.Site
	// Memory is how much of it a new cluster may take for its state, as in tmpfs(5); with none the state is on the disk.
	Memory string
	Log    *progress.Log
}

// errDown is what commands answer that need a running cluster.
var errDown = errors.New("the cluster is not up: run `cluster up`")

// client makes the administrator's client out of the API server's own
// certificate for kubelets, which is an administrator's too.
func (c Cluster) client() (*api.Client, error) {
	authority, err := os.ReadFile(c.PKI("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errDown, err)
	}
	cert, err := tls.LoadX509KeyPair(c.PKI("apiserver-client.crt"), c.PKI("apiserver-client.key"))
	if err != nil {
		return nil, fmt.Errorf("load the administrator's certificate: %w", err)
	}
	return api.New(authority, cert)
}

// running makes a client and checks that there is a cluster behind it. What
// ended a moment ago gets the time in which the keeper starts it again.
func (c Cluster) running(ctx context.Context) (*api.Client, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	if err := control.Kept(ctx, c.Site, client); err != nil {
		return nil, fmt.Errorf("%w (%w)", errDown, err)
	}
	return client, nil
}

// AsUser renders a kubeconfig for any user, in any groups. What that user
// may do is up to the role bindings of the cluster.
func (c Cluster) AsUser(user string, groups []string) ([]byte, error) {
	authority, err := control.Authority(c.Site)
	if err != nil {
		return nil, err
	}
	return control.Kubeconfig(authority, pki.Subject{User: user, Groups: groups})
}

// archives writes the archives of the standard images that are missing or
// older than the programs in them.
func (c Cluster) archives() ([]string, error) {
	var files []string
	for _, image := range archive.Standard(c.Site) {
		file := image.File(c.Site)
		if !newer(file, image.Parts()) {
			if err := image.Write(file); err != nil {
				return nil, err
			}
			c.Log.Printf("image %s written", image.Name)
		}
		files = append(files, file)
	}
	return files, nil
}

// newer reports whether file was made after all of what it is made of.
func newer(file string, parts []string) bool {
	made, err := os.Stat(file)
	if err != nil {
		return false
	}
	for _, part := range parts {
		info, err := os.Stat(part)
		if err != nil || info.ModTime().After(made.ModTime()) {
			return false
		}
	}
	return true
}
