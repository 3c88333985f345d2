package control

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/api"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Started are the control plane's processes, as far as they were started.
type Started struct {
	at      site.Site
	running map[string]*process.Running
}

// Start starts etcd and the API server, which knows how to wait for etcd.
func Start(at site.Site) (*Started, error) {
	started := &Started{at: at, running: map[string]*process.Running{}}
	if err := cgroup.Make(cgroup.Control); err != nil {
		return nil, err
	}
	for _, spec := range []process.Spec{etcd(at), apiServer(at)} {
		if err := started.start(spec); err != nil {
			return nil, err
		}
	}
	return started, nil
}

// start runs one component and keeps an eye on it.
func (s *Started) start(spec process.Spec) error {
	running, err := process.Start(s.at, spec)
	if err != nil {
		return err
	}
	s.running[spec.Name] = running
	return nil
}

// AwaitAPI waits for the API server. If etcd is what fails, that is said.
func (s *Started) AwaitAPI(ctx context.Context, client *api.Client) error {
	return s.running[APIServer].Await(ctx, func(ctx context.Context) error {
		select {
		case <-s.running[Etcd].Ended():
			return s.running[Etcd].Failure()
		default:
			return client.Ready(ctx)
		}
	})
}

// StartRest starts what needs the API server from its first moment on.
func (s *Started) StartRest(ctx context.Context) error {
	dns, err := coreDNS(s.at)
	if err != nil {
		return err
	}
	if err := s.start(controllerManager(s.at)); err != nil {
		return err
	}
	if err := Apply(ctx, s.at); err != nil {
		return err
	}
	keep, err := keeper(s.at)
	if err != nil {
		return err
	}
	for _, spec := range []process.Spec{scheduler(s.at), dns, provisioner(s.at), keep} {
		if err := s.start(spec); err != nil {
			return err
		}
	}
	return nil
}

// AwaitDNS waits until the cluster's names resolve.
func (s *Started) AwaitDNS(ctx context.Context) error {
	return s.running[CoreDNS].Await(ctx, Resolves)
}

// Check reports a component that ended since it was started.
func (s *Started) Check() error {
	for _, name := range Components {
		running, ok := s.running[name]
		if !ok {
			continue
		}
		select {
		case <-running.Ended():
			return running.Failure()
		default:
		}
	}
	return nil
}

// Dead names the components of an existing cluster that do not run.
func Dead(at site.Site) []string {
	var dead []string
	for _, name := range Components {
		if !process.Alive(at, name) {
			dead = append(dead, name)
		}
	}
	return dead
}

// Healthy asks an existing control plane whether it serves, names included.
func Healthy(ctx context.Context, at site.Site, client *api.Client) error {
	if dead := Dead(at); len(dead) > 0 {
		return fmt.Errorf("not running: %v (see %s)", dead, at.Logs())
	}
	if err := client.Ready(ctx); err != nil {
		return err
	}
	return Resolves(ctx)
}
