package opener

import (
	"context"
	"net"
	"path"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/remote"
)

// Store opens the store of a repository that has a name, for a process that has nothing mounted. That of a claim is
// served by a pod, which the first call starts and Close ends.
func (r *Repositories) Store(namespace string, d bucket.Description, s bucket.Secrets) (store.Store, error) {
	at, ok := d.Claim()
	if !ok {
		return d.Store(s)
	}
	served := &servedStore{repositories: r, namespace: namespace, at: at, oneNode: d.OneNode}
	return remote.New(d.URL, served.dial, served.close), nil
}

// servedStore is the pod that serves a claim, once it is needed.
type servedStore struct {
	repositories *Repositories
	namespace    string
	at           repository.Location
	oneNode      bool

	mu     sync.Mutex
	pod    *share
	closed bool
}

// dial connects to the pod, and starts it before if need be.
func (s *servedStore) dial(ctx context.Context) (net.Conn, error) {
	pod, err := s.started(ctx)
	if err != nil {
		return nil, err
	}
	return s.repositories.Dialer.DialLoopback(ctx, s.namespace, pod, servePort)
}

func (s *servedStore) started(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed { // the client may dial for a request that was given up
		return "", net.ErrClosed
	}
	if s.pod == nil {
		r := s.repositories
		key := claimKey{namespace: s.namespace, url: s.at.String(), image: r.Image, node: s.oneNode}
		pod, err := r.Claims.open(ctx, key, func() (*claimed, error) {
			return r.openClaim(ctx, s.namespace, s.at.String(), r.servingWhole(s.namespace, s.at, s.oneNode))
		})
		if err != nil {
			return "", err
		}
		s.pod = pod
	}
	return s.pod.pod, nil
}

// servingWhole is a pod that mounts all of a claim: the directory in it is made by its own user, as other pods make it.
func (r *Repositories) servingWhole(namespace string, at repository.Location, oneNode bool) helperpod.Spec {
	spec := r.serving(namespace, repository.Location{Claim: at.Claim})
	spec.Args[3] = path.Join(repositoryRoot, at.Path)
	if oneNode {
		spec.SameNode = at.Claim
	}
	return spec
}

func (s *servedStore) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.pod == nil {
		return nil
	}
	return s.pod.Close()
}
