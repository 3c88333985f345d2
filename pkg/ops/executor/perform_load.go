package executor

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"path"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// stagingDir is where a loader keeps the backup until it is a data directory, beside that.
const stagingDir = ".dbop-load"

// Where a loader listens, on its own loopback.
const (
	loadPort    = 8601
	loadAddress = "127.0.0.1:8601"
)

// listensWithin is how long a helper whose pod runs may take to answer: to observe the whole cluster once more would
// take longer.
const listensWithin = time.Second

// load puts a backup into the initial member's volume. The loader pod runs the
// target version's own restore tool and marks the volume when it is whole, so
// a crash anywhere is mended by doing it again.
func (l *Executor) load(ctx context.Context, t task) error {
	c, from, name := t.Cluster, t.Cluster.Spec.RestoreFrom, t.Member()+"-load"
	mounted, sent, err := l.loading(ctx, &t, name, from.Repository, from.Backup)
	if err != nil {
		return err
	}
	if mounted != nil {
		if r := helper.ReadLoaded(mounted.Message); r.Backup == from.Backup {
			return l.loaded(ctx, name, r.Recorded, r.DataHash) // it has seen all of the claim that is to be known
		}
	}
	if starting(t.State, name) {
		return fmt.Errorf("helper pod %s is starting: %w", name, engine.ErrNotReady) // to open a claim takes a pod, too
	}
	repo, err := l.repositories(c).Open(ctx, l.Namespace, from.Repository)
	if err != nil {
		return err
	}
	defer func() { _ = opener.End(repo) }() // the loader mounts the claim
	m, err := repo.Get(ctx, from.Backup)
	if err != nil {
		return fmt.Errorf("find backup %s: %w", from.Backup, err)
	}
	if err := l.loadable(m, c.Spec.Version); err != nil {
		return err
	}
	source, err := l.sourceOf(ctx, from.Repository, m)
	if err != nil {
		return err
	}
	if err := l.convert(&source, c, m); err != nil {
		return err
	}
	if sent {
		source.claim = nil
	}
	if source.itself = source.itself || mounted != nil; source.itself {
		if err := l.gaveUp(ctx, t.State, name, m.ID); err != nil {
			return notConverted(t.Operation, err)
		}
	}
	h, err := l.helper(ctx, t.State, name, func() error {
		target, err := (&planner.Windows{}).Resolve(ctx, l.Engine, repo, m, from.Target)
		if err != nil {
			return ops.Refusal(err)
		}
		source.forward = append(source.forward, forwardOf(target, m)...)
		if err := hold(ctx, repo, m.ID); err != nil {
			return err
		}
		return l.createLoader(ctx, c, t.Member(), name, source)
	})
	if err != nil {
		return err
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		return l.Dialer.DialLoopback(ctx, l.Namespace, h.Name, loadPort)
	}
	var loaded engine.DataHash
	switch {
	case h.Done && source.itself:
		loaded = helper.ReadLoaded(h.Message).DataHash
	case source.itself:
		return fmt.Errorf("pod %s is loading %s from %s%s: %w", name, m.ID, repo.URL(),
			l.waitsFor(ctx, name, helperpod.PurposeLoad), engine.ErrNotReady)
	case !h.Done && (!h.Running || helper.Await(ctx, dial, listensWithin) != nil):
		return fmt.Errorf("helper pod %s is starting: %w", name, engine.ErrNotReady)
	case !h.Done:
		if loaded, err = l.stream(ctx, repo, m, dial, t.report); err != nil {
			return notConverted(t.Operation, err)
		}
	}
	return l.loaded(ctx, name, m.Facts.Proof, loaded)
}

// starting reports whether a helper pod is there that does not run yet, for no known reason.
func starting(s ops.State, name string) bool {
	i := slices.IndexFunc(s.Kube.Helpers, func(h observe.Helper) bool { return h.Name == name })
	if i < 0 {
		return false
	}
	h := s.Kube.Helpers[i]
	return !h.Running && !h.Done && !h.Failed && h.Problem == nil
}

// loaded ends the loader, and records what the backup says of itself and what was made of it.
func (l *Executor) loaded(ctx context.Context, name string, recorded engine.Proof, loaded engine.DataHash) error {
	if err := helperpod.Delete(ctx, l.Client, l.Namespace, name); err != nil {
		return fmt.Errorf("remove loader pod %s: %w", name, err)
	}
	return l.change(ctx, func(c *v1alpha1.DatabaseCluster) {
		f := c.Status.Bootstrap
		f.Loaded, f.ExpectedProof, f.ExpectedMark = true, string(recorded), ""
		// If the answer was lost, or speaks of other data, all data is compared.
		if l.Engine.CompareProofs(recorded, loaded.Proof) == engine.MatchSame {
			f.ExpectedMark = loaded.Mark
		}
	})
}

// loadable refuses a backup that this engine and version can't take.
func (l *Executor) loadable(m repository.Manifest, version string) error {
	if err := engine.CheckLoad(l.Engine, m.Engine, m.Version, version); err != nil {
		return ops.Refusal(err)
	}
	return nil
}

// helper returns the named helper pod, made first if it is not there; ErrNotReady while it starts.
func (l *Executor) helper(ctx context.Context, s ops.State, name string, create func() error) (observe.Helper, error) {
	for _, h := range s.Kube.Helpers {
		switch {
		case h.Name != name:
		case h.Failed:
			if err := helperpod.Delete(ctx, l.Client, l.Namespace, name); err != nil {
				return h, fmt.Errorf("remove failed helper pod %s: %w", name, err)
			}
			return h, fmt.Errorf("helper pod %s failed (%s) and is made again: %w", name,
				cmp.Or(h.Message, "it left no message"), engine.ErrNotReady)
		case h.Problem != nil && s.Now.Sub(h.Problem.Since) > rules.Limit:
			return h, opener.HelperStuck(l.Namespace, h)
		default:
			return h, nil
		}
	}
	if err := create(); err != nil {
		return observe.Helper{}, fmt.Errorf("start helper pod %s: %w", name, err)
	}
	return observe.Helper{}, fmt.Errorf("helper pod %s is starting: %w", name, engine.ErrNotReady)
}

// stream sends the backup's bytes to a loader that listens.
func (l *Executor) stream(ctx context.Context, repo repository.Repository, m repository.Manifest,
	dial func(context.Context) (net.Conn, error), report func(int64, int64)) (engine.DataHash, error) {
	r, size, sum, err := repository.Whole(ctx, repo, m.ID)
	if err != nil {
		return engine.DataHash{}, err // it names the backup and what is wrong with it
	}
	defer closing(r)
	loaded, err := helper.Load(ctx, dial, r, size, cmp.Or(sum, helper.ComparedInside),
		func(n int64) { report(n, size) })
	if err != nil {
		return engine.DataHash{}, fmt.Errorf("load backup %s: %w", m.ID, err)
	}
	return loaded, nil
}

// createLoader makes volume and loader pod of a restored initial member. ErrNotReady says why the loader can't read the
// backup by itself.
func (l *Executor) createLoader(ctx context.Context, c *v1alpha1.DatabaseCluster, member, name string,
	from loadSource) error {
	if err := workload.ApplyVolume(ctx, l.Client, c, member); err != nil {
		return err
	}
	image, err := l.image(c, c.Spec.Version)
	if err != nil {
		return err
	}
	var apart string
	pod, err := l.Engine.Pod(engine.PodInput{Cluster: c, ToolImage: l.helperImage(c), Member: member, Image: image,
		Version: c.Spec.Version,
		Peers:   []string{member}})
	if err != nil {
		return err
	}
	if from.claim != nil {
		if apart, err = l.mount(ctx, c, member, pod.User, &from); err != nil {
			return err
		}
	}
	var dataHash []string
	if _, ok := l.Engine.(engine.DataHasher); ok {
		dataHash = []string{"--data-hash", l.Engine.Name()}
	}
	err = helperpod.Create(ctx, l.Client, helperpod.Spec{Name: name, Namespace: l.Namespace, Cluster: c,
		Purpose: helperpod.PurposeLoad, Deadline: workload.LongestStream,
		Image: image, InstallFrom: l.helperImage(c), Claim: v1alpha1.VolumeName(member), MountPath: pod.DataPath,
		User: pod.User, Files: from.files, SameNode: from.sameNode, ToolGroup: from.shared && pod.User != 0,
		Sidecar: from.sidecar, Former: from.former,
		Command: append([]string{helperpod.InstalledBinary},
			l.loadArgs(c, member, pod, from, c.Spec.RestoreFrom.KeepRevision, dataHash...)...)})
	if err == nil && apart != "" {
		return fmt.Errorf("it is sent the backup, for %s: %w", apart, engine.ErrNotReady)
	}
	return err
}

// loadArgs are the arguments of the helper that loads into DataDir, after which
// it does what further flags ask for.
func (l *Executor) loadArgs(c *v1alpha1.DatabaseCluster, member string, pod engine.Pod, from loadSource,
	keepRevision bool, further ...string) []string {
	token := c.Status.Bootstrap.Token
	args := append([]string{"helper", "load"}, from.args...)
	args = append(args, "--into", pod.DataDir, "--staging", path.Join(path.Dir(pod.DataDir), stagingDir),
		"--operation", token)
	args = append(append(args, further...), "--")
	return append(args, l.Engine.LoadCommand(engine.LoadInput{Cluster: c, Member: member, Token: token,
		File: helper.FileToken, DataDir: helper.OutToken, Tool: helperpod.InstalledBinary, KeepRevision: keepRevision,
		Forward: from.forward})...)
}
