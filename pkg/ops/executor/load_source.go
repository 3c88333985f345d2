package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// heldFor is longer than a loader may live: no prune deletes what it reads, and nobody need release it.
const heldFor = workload.LongestStream + time.Hour

// loadSource is where a loader gets a backup from: by itself out of an object store, or sent by this process.
type loadSource struct {
	itself bool
	args   []string
	// claim, if set, is what a loader could read by itself, if it can mount it; with mounted in place of args.
	claim   *repository.Location
	mounted []string
	files   []helperpod.Files
	// shared says that files hold the claim of a repository that has a name, which pods of the tool write. sameNode is
	// that claim, where one node alone can mount it.
	shared   bool
	sameNode string
	sidecar  *helperpod.Sidecar
	// forward has the data brought to a target in the log, or to a later version.
	forward []string
	// former brings the programs of the version that the data has.
	former *helperpod.Former
}

// sourceOf says how a backup gets into a volume. It refuses one that the loader could not read.
func (l *Executor) sourceOf(ctx context.Context, url string, m repository.Manifest) (loadSource, error) {
	at, err := ops.ParseRepository(url)
	if err != nil {
		return loadSource{}, err
	}
	args := l.reading(m)
	if at.Kind != repository.KindNamed {
		out := loadSource{args: slices.Concat(args, []string{"--listen", loadAddress})}
		if at.Kind == repository.KindClaim {
			out.claim, out.mounted = &at, slices.Concat(args, []string{"--backup", m.ID, "--report",
				corev1.TerminationMessagePathDefault})
		}
		return out, nil
	}
	d, err := (&opener.Repositories{Client: l.Client}).Describe(ctx, l.Namespace, at.Name)
	if err != nil {
		return loadSource{}, err
	}
	if m.Encrypted && !d.Identity {
		return loadSource{}, &ops.Error{Kind: ops.Refused, Check: "key",
			Message: fmt.Sprintf("backup %s is encrypted, and namespace %s has no key that reads it; nothing "+
				"was changed", m.ID,
				l.Namespace),
			Hint: giveKey(d) + " gives it one"}
	}
	_, shared := d.Claim()
	return loadSource{itself: true, shared: shared, sameNode: sameNode(d),
		args: append(args, "--from-repository", helper.MountedRepository, "--backup", m.ID, "--report",
			corev1.TerminationMessagePathDefault),
		files: repositoryFiles(d, true, false)}, nil
}

// reading are the arguments that say how a backup is read where it is unpacked.
func (l *Executor) reading(m repository.Manifest) []string {
	if l.readsOnce(m) {
		return []string{"--once"}
	}
	return nil
}

// readsOnce reports whether no file of the backup is stored beside what is made of it.
func (l *Executor) readsOnce(m repository.Manifest) bool {
	u, ok := l.Engine.(engine.Unpacker)
	return ok && u.ReadsOnce(m.Facts)
}

// forwardOf are the arguments that bring a backup to the target that a restore names. A kubelet takes $(NAME) in
// arguments for a variable.
func forwardOf(t v1alpha1.RecoveryTarget, m repository.Manifest) []string {
	if !t.Set() {
		return nil
	}
	var args []string
	for _, f := range [][2]string{{"--to-time", t.Time}, {"--to-lsn", t.LSN}, {"--to-name", t.Name},
		{"--to-transaction", t.Transaction}} {
		if f[1] != "" {
			args = append(args, f[0], strings.ReplaceAll(f[1], "$", "$$"))
		}
	}
	if t.Exclusive {
		args = append(args, "--exclusive")
	}
	return append(args, "--timeline", t.Timeline, "--log-repository", helper.MountedRepository,
		"--log-namespace", m.Namespace, "--log-cluster", m.Cluster, "--log-incarnation", m.Incarnation)
}

// formerPrograms is where a loader finds the programs of the version of a backup that it converts.
const formerPrograms = "/former"

// convert has the loader of a backup convert the data, where it is of an older series than the cluster.
func (l *Executor) convert(source *loadSource, c *v1alpha1.DatabaseCluster, m repository.Manifest) error {
	if m.Engine != l.Engine.Name() || !engine.Converts(l.Engine, m.Version, c.Spec.Version) {
		return nil
	}
	source.forward = append(source.forward, "--programs", formerPrograms)
	image := ""
	if from := c.Spec.RestoreFrom; from != nil {
		image = from.FormerImage
	}
	former, err := l.former(c, m.Version, image)
	source.former = former
	return err
}

// former brings the programs of a version out of its image, that of the catalog where none is named.
func (l *Executor) former(c *v1alpha1.DatabaseCluster, version, image string) (*helperpod.Former, error) {
	release, err := engine.Nearest(l.Engine, version)
	if err != nil {
		return nil, ops.Refusal(err)
	}
	return &helperpod.Former{Image: cmp.Or(image, engine.Mirrored(release.Image, c.Spec.Registry)), Path: formerPrograms,
		Command: []string{helperpod.InstalledBinary, "helper", "programs", "--engine", l.Engine.Name(), "--version",
			release.Version, "--to", formerPrograms}}, nil
}

// notConverted is the end of a program that could not convert the data for an upgrade: trying again helps nobody, nor
// does another try with the same backup.
func notConverted(op *v1alpha1.Operation, err error) error {
	gaveUp, ok := errors.AsType[*ops.Error](err)
	if !ops.Converts(op) || !errors.Is(err, helper.ErrCommand) && (!ok || gaveUp.Check != "load") {
		return err
	}
	return &ops.Error{Kind: ops.NeedsHuman, Check: "conversion", Err: err,
		Message: fmt.Sprintf("the data of %s can't be converted for %s", op.Spec.Cluster, op.Spec.Version),
		Hint: fmt.Sprintf("kubectl dbop cancel %s steps back; change what it names in the database, then ask for the "+
			"upgrade again", op.Spec.Cluster)}
}

// hold keeps every prune, wherever it runs, from a backup that is about to be read.
func hold(ctx context.Context, repo repository.Repository, id string) error {
	b, ok := repo.(*bucket.Repository)
	if !ok {
		return nil
	}
	return b.Hold(ctx, id, heldFor, "a pod is loading it")
}

// roomFor refuses a backup that can't be made into a data directory on the volumes of the cluster.
func (l *Executor) roomFor(ctx context.Context, repo repository.Repository, c *v1alpha1.DatabaseCluster,
	m repository.Manifest) error {
	size, err := repository.WholeBytes(ctx, repo, m)
	if err != nil {
		return err
	}
	if need := helper.Room(size, l.readsOnce(m)); c.Spec.Storage.Size.Value() < need {
		return &ops.Error{Kind: ops.Refused, Check: "volume-size",
			Message: fmt.Sprintf("loading backup %s takes %d bytes on a volume, and those of %s have %d; nothing was changed",
				m.ID, need, c.Name, c.Spec.Storage.Size.Value()),
			Hint: "give it larger volumes with --storage"}
	}
	return nil
}

// gaveUp ends a loader that could not do it by itself; it has tried more than once.
func (l *Executor) gaveUp(ctx context.Context, s ops.State, pod, id string) error {
	for _, h := range s.Kube.Helpers {
		if h.Name != pod || !h.Failed {
			continue
		}
		if err := helperpod.Delete(ctx, l.Client, l.Namespace, pod); err != nil {
			return fmt.Errorf("remove failed helper pod %s: %w", pod, err)
		}
		return &ops.Error{Kind: ops.NeedsHuman, Check: CheckLoad,
			Message: fmt.Sprintf("pod %s could not load backup %s: %s", pod, id,
				cmp.Or(strings.TrimSpace(h.Message), "it left no message")),
			Hint: "mend what it says, or take another backup; the same command tries again, kubectl dbop cancel goes back"}
	}
	return nil
}
