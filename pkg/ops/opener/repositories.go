// Package opener opens the repositories of backups that an operation names.
package opener

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/repositories"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// Repositories opens repositories by their URL. A directory is opened as it
// is; a claim through a helper pod that mounts it, lives as long as the opened
// repository and ends by itself, some minutes after the last request, if this process dies.
type Repositories struct {
	Client *kube.Client
	Dialer *dial.Dialer
	// Image runs the helper pod.
	Image string
	// Mounted are directories of this very pod, by the URLs of the claims that
	// are mounted there: these need no helper. For the name of a repository it is
	// the directory with its description and secrets.
	Mounted map[string]string
	// Staging is where a backup for an object store is kept until the engine
	// has read it; "" is the directory for temporary files.
	Staging string
	// Claims are those that this process has open; nil opens each again.
	Claims *Claims
	// NoDirectories refuses every other directory: nothing that is written to
	// this pod outlives it.
	NoDirectories bool
}

// helperDeadline bounds the start of a helper pod.
const helperDeadline = 2 * time.Minute

// Where helpers listen, on their own loopback, and where they mount a repository's claim.
const (
	servePort      = 8600
	serveAddress   = "127.0.0.1:8600"
	repositoryRoot = "/repository"
)

// Open opens the repository; Close of it is the caller's.
func (r *Repositories) Open(ctx context.Context, namespace, url string) (repository.Repository, error) {
	at, err := ops.ParseRepository(url)
	if err != nil {
		return nil, err
	}
	if at.Kind == repository.KindDirectory && r.NoDirectories {
		return nil, &ops.Error{Kind: ops.Refused, Check: "repository", Message: url +
			" is a directory of one machine, which an operator does not have",
			Hint: `name a repository as "pvc:CLAIM" or by its name; or repeat the command on that machine`}
	}
	switch at.Kind {
	case repository.KindDirectory:
		return repository.NewDirectory(at.Path)
	case repository.KindNamed:
		return r.openNamed(ctx, namespace, at.Name)
	}
	if dir, ok := r.Mounted[at.String()]; ok {
		return repository.NewDirectory(dir)
	}
	return r.Claims.open(ctx, claimKey{namespace: namespace, url: at.String(), image: r.Image}, func() (*claimed, error) {
		return r.openClaim(ctx, namespace, url, r.serving(namespace, at))
	})
}

// openNamed opens an object store. Nobody here needs the key that reads what is encrypted: the pod that loads a
// backup has it.
func (r *Repositories) openNamed(ctx context.Context, namespace, name string) (repository.Repository, error) {
	if dir, ok := r.Mounted[name]; ok {
		d, secrets, err := bucket.ReadDirectory(dir)
		if err != nil {
			return nil, err
		}
		return bucket.Open(d, secrets, namespace, r.Staging)
	}
	d, err := r.Describe(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	secrets, err := repositories.GetSecrets(ctx, r.Client, namespace, d, false)
	if err != nil {
		return nil, err
	}
	s, err := r.Store(namespace, d, secrets)
	if err != nil {
		return nil, err
	}
	return bucket.OpenIn(d, secrets, s, namespace, r.Staging)
}

// Describe reads what a repository is, or says how to make it.
func (r *Repositories) Describe(ctx context.Context, namespace, name string) (bucket.Description, error) {
	d, err := repositories.Get(ctx, r.Client, namespace, name)
	if errors.Is(err, kube.ErrNotFound) {
		return d, &ops.Error{Kind: ops.Refused, Check: "repository",
			Message: fmt.Sprintf("there is no repository %s in namespace %s", name, namespace),
			Hint: fmt.Sprintf("kubectl dbop repository list -n %s shows those there are; a directory is written "+
				`"dir:./%s", a claim "pvc:%s"`,
				namespace, name, name)}
	}
	return d, err
}

// serving is a pod that serves a directory of a claim.
func (r *Repositories) serving(namespace string, at repository.Location) helperpod.Spec {
	return helperpod.Spec{Namespace: namespace, Purpose: helperpod.PurposeRepository, Image: r.Image,
		Args:  []string{"helper", "serve", "--root", repositoryRoot, "--listen", serveAddress},
		Claim: at.Claim, SubPath: at.Path, MountPath: repositoryRoot, Deadline: workload.LongestStream}
}

// openClaim starts the pod that serves a claim, under a name of its own, and awaits it.
func (r *Repositories) openClaim(ctx context.Context, namespace, url string, spec helperpod.Spec) (*claimed, error) {
	random := make([]byte, 3)
	if _, err := rand.Read(random); err != nil {
		return nil, fmt.Errorf("choose a name for the helper pod: %w", err)
	}
	name := "dbop-repository-" + hex.EncodeToString(random)
	spec.Name = name
	dial := func(ctx context.Context) (net.Conn, error) {
		return r.Dialer.DialLoopback(ctx, namespace, name, servePort)
	}
	remote := repository.NewRemote(url, dial)
	repo := &claimed{Remote: remote, client: r.Client, namespace: namespace, pod: name}
	if err := helperpod.Create(ctx, r.Client, spec); err != nil {
		// The answer may be lost and the pod there.
		_ = repo.Close()
		return nil, fmt.Errorf("start a helper pod for %s: %w", url, err)
	}
	if err := r.await(ctx, namespace, name, remote); err != nil {
		_ = repo.Close()
		return nil, fmt.Errorf("open %s: %w", url, err)
	}
	return repo, nil
}

// await returns when the helper answers, or says why it never will.
func (r *Repositories) await(ctx context.Context, namespace, name string, remote *repository.Remote) error {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, helperDeadline)
	defer cancel()
	tick := time.NewTicker(ops.FirstBackoff)
	defer tick.Stop()
	for {
		h, err := helperpod.Get(ctx, r.Client, namespace, name)
		switch {
		case err != nil:
			return err
		case h.Problem != nil && r.Client.Now().Sub(h.Problem.Since) > rules.Limit:
			return HelperStuck(namespace, h)
		case h.Failed || h.Done:
			return &ops.Error{Kind: ops.NeedsHuman, Check: "helper",
				Message: fmt.Sprintf("helper pod %s ended: %s", name, cmp.Or(h.Message, "it left no message")),
				Hint:    "check that the claim can be written by a user who is not root"}
		case h.Running && remote.Ready(ctx) == nil:
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if caller.Err() != nil {
				return context.Cause(caller)
			}
			return &ops.Error{Kind: ops.NeedsHuman, Check: "helper",
				Message: fmt.Sprintf("helper pod %s did not start within %s", name, helperDeadline),
				Hint: "kubectl describe pod " +
					name + " -n " + namespace}
		}
	}
}

// HelperStuck is the error about a helper pod that does not start. It is told of a pod that is gone by the time a
// person reads it.
func HelperStuck(namespace string, h observe.Helper) *ops.Error {
	hint := "kubectl get events -n " + namespace + " says more; then repeat the command"
	switch h.Problem.Kind {
	case observe.ProblemImage:
		hint = "the helper runs this tool's own image; name one that your nodes can pull with --helper-image or --registry"
	case observe.ProblemUnschedulable, observe.ProblemVolume:
		hint = "make the claim that it names, or room for one small pod where that claim can be mounted; then repeat the " +
			"command"
	}
	return &ops.Error{Kind: ops.NeedsHuman, Check: string(h.Problem.Kind),
		Message: fmt.Sprintf("helper pod %s: %s: %s", h.Name, h.Problem.Kind, h.Problem.Message), Hint: hint}
}
