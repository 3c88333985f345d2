package executor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// verify restores the operation's backup into a throw-away member, compares
// key by key through the fingerprint, and stamps the backup.
func (l *Executor) verify(ctx context.Context, t task) (ops.Result, error) {
	op := t.Operation
	repo, err := l.repositories(t.Cluster).Open(ctx, l.Namespace, op.Spec.Repository)
	if err != nil {
		return ops.Result{}, err
	}
	defer closing(repo)
	want := Proving{Backup: op.Spec.Backup, Level: repository.LevelRestorable, By: op.Spec.RequestedBy}
	if err := l.verifyBackup(ctx, t.State, repo, want, t.report); err != nil {
		if failed := l.failedNow(op.Spec.Repository, want, err); failed != nil && !ops.Converts(op) {
			err = errors.Join(err, l.change(ctx, func(c *v1alpha1.DatabaseCluster) { c.Status.FailedProof = failed }))
		}
		return ops.Result{}, notConverted(op, err)
	}
	ref := l.verifiedNow(op.Spec.Repository, op.Spec.Backup)
	if err := l.change(ctx, func(c *v1alpha1.DatabaseCluster) { prove(c, want, ref) }); err != nil {
		return ops.Result{}, fmt.Errorf("note the verified backup on the cluster: %w", err)
	}
	return ops.Result{Facts: map[string]string{v1alpha1.FactVerified: op.Spec.Backup}}, nil
}

// verifyBackup does one attempt of a verification; ErrNotReady (wrapped) asks for
// another after a new observation. The throw-away member holds a copy of real
// data: it serves on its own loopback only and is removed at the end, and by
// its deadline if nobody comes back. What was found is recorded in the repository.
func (l *Executor) verifyBackup(ctx context.Context, s ops.State, repo repository.Repository, want Proving,
	report func(int64, int64)) error {
	err := l.verifyTurn(ctx, s, repo, want, report)
	if err == nil || errors.Is(err, engine.ErrNotReady) {
		return err
	}
	if !ops.Converts(s.Operation) { // what a newer version makes of it says nothing of the backup
		err = l.recordFailure(ctx, repo, want, err)
	}
	return errors.Join(err, l.EndVerification(ctx, s.Cluster, want.Backup))
}

// EndVerification deletes the throw-away member of a verification that is not
// continued; without one it does nothing.
func (l *Executor) EndVerification(ctx context.Context, like *v1alpha1.DatabaseCluster, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	pod := v1alpha1.PodName(throwAwayName(like, id))
	if err := helperpod.Delete(ctx, l.Client, l.Namespace, pod); err != nil {
		return fmt.Errorf("remove helper pod %s: %w", pod, err)
	}
	return nil
}

func (l *Executor) verifyTurn(ctx context.Context, s ops.State, repo repository.Repository, want Proving,
	report func(int64, int64)) error {
	id := want.Backup
	if at, named, err := l.claimOf(ctx, repo.URL()); err == nil && named && at.Kind == repository.KindClaim {
		if pod := v1alpha1.PodName(throwAwayName(s.Cluster, id)); starting(s, pod) { // to open a claim takes a pod, too
			return fmt.Errorf("pod %s is loading %s from %s: %w", pod, id, repo.URL(), engine.ErrNotReady)
		}
	}
	m, err := repo.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("find backup %s: %w", id, err)
	}
	t := l.throwAway(s.Cluster, m)
	if ops.Converts(s.Operation) && s.Operation.Spec.Backup == id {
		converted(t, s.Cluster, s.Operation.Spec)
		if err := l.roomFor(ctx, repo, s.Cluster, m); err != nil {
			return err
		}
	}
	if err := l.loadable(m, t.Spec.Version); err != nil {
		return err
	}
	pod := v1alpha1.PodName(t.Name)
	source, err := l.sourceOf(ctx, repo.URL(), m)
	if err != nil {
		return err
	}
	if source.itself {
		if err := l.gaveUp(ctx, s, pod, id); err != nil {
			return err
		}
	}
	if err := l.convert(&source, t, m); err != nil {
		return err
	}
	h, err := l.helper(ctx, s, pod, func() error {
		if err := hold(ctx, repo, id); err != nil {
			return err
		}
		return l.createThrowAway(ctx, s.Cluster, t, source, m.Facts.Auth)
	})
	if err != nil {
		return err
	}
	if h.Done {
		// It stopped before it was asked; a pod that has ended never runs again.
		if err := helperpod.Delete(ctx, l.Client, l.Namespace, pod); err != nil {
			return fmt.Errorf("remove helper pod %s: %w", pod, err)
		}
		return fmt.Errorf("the restored member stopped and is made again: %w", engine.ErrNotReady)
	}
	if source.itself && !h.Running {
		return fmt.Errorf("pod %s is loading %s from %s%s: %w", pod, id, repo.URL(),
			l.waitsFor(ctx, pod, helperpod.PurposeVerify), engine.ErrNotReady)
	}
	if !h.Running {
		dial := func(ctx context.Context) (net.Conn, error) {
			return l.Dialer.DialLoopback(ctx, l.Namespace, pod, loadPort)
		}
		if helper.Ready(ctx, dial) != nil {
			return fmt.Errorf("helper pod %s is starting: %w", pod, engine.ErrNotReady)
		}
		if _, err := l.stream(ctx, repo, m, dial, report); err != nil {
			return err
		}
		return fmt.Errorf("the restored member is starting: %w", engine.ErrNotReady)
	}
	checked, err := l.compare(ctx, t, m)
	if err != nil {
		return err
	}
	p := l.proofOf(want)
	p.Version, p.Checked = t.Spec.Version, checked
	if err := repo.AddProof(ctx, id, p); err != nil {
		return fmt.Errorf("stamp backup %s: %w", id, err)
	}
	return helperpod.Delete(ctx, l.Client, l.Namespace, pod)
}

// throwAway is the cluster of one member that serves the restored copy. Every
// cluster has one of its own: two may verify the same backup at once.
func (l *Executor) throwAway(like *v1alpha1.DatabaseCluster, m repository.Manifest) *v1alpha1.DatabaseCluster {
	t := &v1alpha1.DatabaseCluster{}
	t.Name, t.Namespace = throwAwayName(like, m.ID), l.Namespace
	t.Spec = v1alpha1.DatabaseClusterSpec{Engine: m.Engine, Version: m.Version, Members: 1,
		TLS: v1alpha1.TLS{Disabled: true}}
	if near, err := engine.Nearest(l.Engine, m.Version); err == nil {
		t.Spec.Version = near.Version
	}
	if like != nil {
		t.Spec.Registry, t.Spec.HelperImage, t.Spec.Storage = like.Spec.Registry, like.Spec.HelperImage, like.Spec.Storage
		if like.Spec.Version == m.Version && like.Spec.Image != "" {
			t.Spec.Image, t.Spec.Version = like.Spec.Image, m.Version
		}
	}
	t.Status.Bootstrap = &v1alpha1.Bootstrap{Token: "verify-" + m.ID, Members: []string{t.Name}}
	return t
}

// converted has the throw-away member be of the version that an upgrade converts the data for, with the settings of the
// cluster: a version may not know a setting of its predecessor.
func converted(t, like *v1alpha1.DatabaseCluster, o v1alpha1.OperationSpec) {
	t.Spec.Version, t.Spec.Image, t.Spec.Config = o.Version, o.Image, like.Spec.Config
	t.Spec.RestoreFrom = &v1alpha1.RestoreSource{FormerImage: o.FromImage}
}

func throwAwayName(like *v1alpha1.DatabaseCluster, id string) string {
	cluster := ""
	if like != nil {
		cluster = like.Name
	}
	return ops.ThrowAway(cluster, id)
}

// createThrowAway makes the throw-away member. If its data demands credentials
// the copy is unlocked: nobody else can reach it, and the password of the time
// of the backup may be gone.
func (l *Executor) createThrowAway(ctx context.Context, owner, t *v1alpha1.DatabaseCluster, from loadSource,
	locked bool) error {
	image, err := l.image(t, t.Spec.Version)
	if err != nil {
		return err
	}
	pod, err := l.Engine.Pod(engine.PodInput{Cluster: t, ToolImage: l.helperImage(t), Member: t.Name, Image: image,
		Version: t.Spec.Version,
		Peers:   []string{t.Name}, Loopback: true})
	if err != nil {
		return err
	}
	var unlock []string
	if _, ok := l.Engine.(engine.Unlocker); ok && locked {
		unlock = []string{"--unlock", l.Engine.Name()}
	}
	return helperpod.Create(ctx, l.Client, helperpod.Spec{Name: v1alpha1.PodName(t.Name), Namespace: l.Namespace,
		Cluster: owner, Purpose: helperpod.PurposeVerify, Deadline: workload.LongestStream,
		Image: image, InstallFrom: l.helperImage(t), MountPath: pod.DataPath, User: pod.User, Then: &pod.Container,
		ThenInit: pod.Init, ThenVolumes: pod.Volumes,
		Files: from.files, SameNode: from.sameNode, ToolGroup: from.shared && pod.User != 0, Former: from.former,
		Command: append([]string{helperpod.InstalledBinary}, l.loadArgs(t, t.Name, pod, from, true, unlock...)...)})
}

// compare asks the restored member for its fingerprint, and then whether its data is whole. It returns what was checked
// for that.
func (l *Executor) compare(ctx context.Context, t *v1alpha1.DatabaseCluster, m repository.Manifest) (string, error) {
	session, err := l.Engine.Connect(engine.Access{Cluster: t,
		Dial: func(ctx context.Context, pod string, port int) (net.Conn, error) {
			return l.Dialer.DialLoopback(ctx, l.Namespace, pod, port)
		}})
	if err != nil {
		return "", err
	}
	defer closing(session)
	if v := session.Observe(ctx, []string{t.Name}); !v.Member(t.Name).Serving {
		return "", fmt.Errorf("the restored member does not serve yet: %w", engine.ErrNotReady)
	}
	got, err := session.Fingerprint(ctx, t.Name)
	if err != nil {
		return "", fmt.Errorf("read the restored data: %w", err)
	}
	if err := l.matches(m, got); err != nil {
		return "", err
	}
	return checkData(ctx, session, t.Name, m.ID)
}

// checkData has a program of the database find damage that was there before the backup.
func checkData(ctx context.Context, session engine.Session, member, id string) (string, error) {
	checker, ok := session.(engine.DataChecker)
	if !ok {
		return "", nil
	}
	found, err := checker.CheckData(ctx, member)
	if err != nil {
		return "", fmt.Errorf("check the restored data for damage: %w", err)
	}
	if len(found.Problems) > 0 {
		return "", &ops.Error{Kind: ops.NeedsHuman, Check: CheckDamage,
			Message: fmt.Sprintf("backup %s restores, but its data was damaged already when it was taken (%s): %s", id,
				found.By, strings.Join(found.Problems, "; ")),
			Hint: "check the cluster that it is of, and verify an older one: kubectl dbop backup list"}
	}
	return found.By, nil
}

// matches compares what was restored with what was backed up.
func (l *Executor) matches(m repository.Manifest, got engine.Fingerprint) error {
	switch l.Engine.CompareProofs(m.Facts.Proof, got.Proof) {
	case engine.MatchSame:
		return nil
	case engine.MatchDifferent:
		return &ops.Error{Kind: ops.NeedsHuman, Check: CheckVerification,
			Message: fmt.Sprintf("backup %s restores to %s, but %s was backed up", m.ID, got.Proof.Short(),
				m.Facts.Proof.Short()),
			Hint: "do not rely on it: take another with kubectl dbop backup"}
	}
	return &ops.Error{Kind: ops.Refused, Check: "unproven",
		Message: fmt.Sprintf(
			"backup %s restores, but nothing proves that it holds what was backed up: it restores to %s, "+
				"and the backup holds %s",
			m.ID, got.Proof.Short(), m.Facts.Proof.Short()),
		Hint: "compare the data yourself: restore it into a new cluster with kubectl dbop restore"}
}
