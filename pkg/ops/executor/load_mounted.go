package executor

import (
	"context"
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// mountedClaim is where a loader that mounts the claim of a repository has it; servedAddress is where another container
// of its pod serves that.
const (
	mountedClaim  = "/repository"
	servedAddress = "127.0.0.1:8602"
)

// loading is the loader that mounts the claim of a repository; nil if there is none. While one is at work nothing else
// opens the claim, which may be for one pod or one node: then it returns ErrNotReady. One that finds no node is
// deleted, and sent says that the next is to be sent the backup.
func (l *Executor) loading(ctx context.Context, t *task, name, url, id string) (mounted *observe.Helper, sent bool,
	err error) {
	at, named, err := l.claimOf(ctx, url)
	if err != nil || at.Kind != repository.KindClaim {
		return nil, false, err
	}
	found := slices.IndexFunc(t.Kube.Helpers, func(h observe.Helper) bool { return h.Name == name })
	if found < 0 || !slices.Contains(t.Kube.Helpers[found].Claims, at.Claim) {
		return nil, false, nil
	}
	h := &t.Kube.Helpers[found]
	switch stuck := h.Problem != nil && t.Now.Sub(h.Problem.Since) > rules.Limit; {
	case h.Done:
		return h, false, nil
	case h.Failed:
		return h, false, l.gaveUp(ctx, t.State, name, id)
	case stuck && !named && !h.Terminating && (h.Problem.Kind == observe.ProblemUnschedulable ||
		h.Problem.Kind == observe.ProblemNode): // the latter where the volumes are on different nodes
		if err := helperpod.Delete(ctx, l.Client, l.Namespace, name); err != nil {
			return nil, false, fmt.Errorf("remove loader pod %s: %w", name, err)
		}
		t.Kube.Helpers = slices.Delete(slices.Clone(t.Kube.Helpers), found, found+1)
		return nil, true, nil
	case stuck:
		return h, false, opener.HelperStuck(l.Namespace, *h)
	}
	return h, false, fmt.Errorf("pod %s, which mounts claim %s, is loading %s: %w", name, at.Claim, id,
		engine.ErrNotReady)
}

// claimOf is the claim of a repository, which may have a name; else a location of another kind.
func (l *Executor) claimOf(ctx context.Context, url string) (at repository.Location, named bool, err error) {
	at, err = ops.ParseRepository(url)
	if err != nil || at.Kind != repository.KindNamed || l.Mounted[at.Name] != "" {
		return at, false, err
	}
	d, err := (&opener.Repositories{Client: l.Client}).Describe(ctx, l.Namespace, at.Name)
	if claim, ok := d.Claim(); err == nil && ok {
		return claim, true, nil
	}
	return at, true, err
}

// mount has the loader read the claim of the repository by itself, if one pod can mount that claim and the member's.
// Else it says why not. The files belong to the user of this tool's own pods: a loader of another user has a container
// of that one beside it, which serves them on their loopback.
func (l *Executor) mount(ctx context.Context, c *v1alpha1.DatabaseCluster, member string, user int64,
	from *loadSource) (string, error) {
	apart, err := preflight.Apart(ctx, l.Client, l.Namespace, from.claim.Claim, v1alpha1.VolumeName(member),
		helperpod.PurposeRepository)
	if err != nil || apart != "" {
		return apart, err
	}
	from.itself = true
	files := helperpod.Files{Volume: workload.ClaimVolume("repository", from.claim.Claim), Path: mountedClaim,
		SubPath: from.claim.Path}
	if user == 0 {
		from.args = append(from.mounted, "--from-directory", mountedClaim)
		from.files = append(from.files, files)
		return "", nil
	}
	from.args = append(from.mounted, "--from-server", servedAddress)
	from.sidecar = &helperpod.Sidecar{Image: l.helperImage(c), Files: files,
		Args: []string{"helper", "serve", "--root", mountedClaim, "--listen", servedAddress}}
	return "", nil
}
