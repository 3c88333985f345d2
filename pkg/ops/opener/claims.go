package opener

import (
	"context"
	"errors"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Claims are the repositories on claims that one process has open. Who opens one of them meanwhile uses the same pod:
// to start another takes a second. The zero value is ready for use, by several goroutines; nil shares nothing.
type Claims struct {
	mu     sync.Mutex
	opened map[claimKey]*claimed
}

// claimKey is what pods that can stand in for each other have in common; node says that they run beside others that
// mount the claim.
type claimKey struct {
	namespace, url, image string
	node                  bool
}

// open returns the repository of a pod that is there and answers, else of the one that start makes.
func (c *Claims) open(ctx context.Context, key claimKey, start func() (*claimed, error)) (*share, error) {
	if c == nil {
		made, err := start()
		if err != nil {
			return nil, err
		}
		return &share{claimed: made}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.opened[key]
	if have != nil && have.Ready(ctx) != nil {
		delete(c.opened, key)
		_ = have.Close() // it serves nobody any more
		have = nil
	}
	if have == nil {
		var err error
		if have, err = start(); err != nil {
			return nil, err
		}
		if c.opened == nil {
			c.opened = map[claimKey]*claimed{}
		}
		c.opened[key] = have
	}
	have.users++
	return &share{claimed: have, of: c, key: key}, nil
}

// leave ends the pod of a claim where its last user leaves it, or all are to.
func (c *Claims) leave(key claimKey, of *claimed, all bool) error {
	if c == nil {
		return of.Close()
	}
	c.mu.Lock()
	of.users--
	ends := c.opened[key] == of && (all || of.users == 0)
	if ends {
		delete(c.opened, key)
	}
	c.mu.Unlock()
	if !ends {
		return nil
	}
	return of.Close()
}

// End closes a repository for all that have it open, as another pod is to mount its claim.
func End(r repository.Repository) error {
	if s, ok := r.(*share); ok {
		return s.close(true)
	}
	return r.Close()
}

// claimed is a repository in a claim, with the pod that serves it.
type claimed struct {
	*repository.Remote
	client         *kube.Client
	namespace, pod string
	// users is guarded by the Claims that it belongs to.
	users int
}

// Close ends the helper pod.
func (c *claimed) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), ops.SaveGrace)
	defer cancel()
	return errors.Join(c.Remote.Close(), helperpod.Delete(ctx, c.client, c.namespace, c.pod))
}

// share is one use of a claim.
type share struct {
	*claimed

	of   *Claims
	key  claimKey
	once sync.Once
}

// Close ends the helper pod if nobody else uses it.
func (s *share) Close() error { return s.close(false) }

func (s *share) close(all bool) (err error) {
	s.once.Do(func() { err = s.of.leave(s.key, s.claimed, all) })
	return err
}
