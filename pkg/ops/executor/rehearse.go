package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// Rehearse implements Rehearser. Whatever else goes wrong here is told by the
// step itself.
func (l *Executor) Rehearse(ctx context.Context, s ops.State, step ops.Step) error {
	switch step.Action {
	case ops.ActionServices:
		if err := l.rehearseRedirect(ctx, s); err != nil {
			return err
		}
		return l.rehearseFounding(ctx, s)
	case ops.ActionGrow:
		return l.rehearseGrowth(ctx, s, step)
	case ops.ActionConfigure:
		return l.mayArchive(ctx, s)
	case ops.ActionBackup:
		return l.rehearseBackup(ctx, s, s.View.Member(step.Member()).DataBytes, step.Parent)
	case ops.ActionRecoverData:
		return l.rehearseBackup(ctx, s, 0, "")
	case ops.ActionStart:
		if err := l.maySource(ctx, s); err != nil {
			return err
		}
		return l.findClass(ctx, s, step.Members)
	case ops.ActionLoad:
		if err := l.findClass(ctx, s, step.Members); err != nil {
			return err
		}
		return l.rehearseLoad(ctx, s)
	case ops.ActionVerify:
		if s.Operation.Spec.Scheduled {
			return nil // the backup is worth having, also where it can't be verified
		}
		return l.mayVerify(ctx, s.Operation.Spec.Repository)
	case ops.ActionSchedule:
		policy := s.Cluster.Spec.Backup
		if _, err := l.findRepository(ctx, policy.Repository); err != nil || policy.Verify == "" {
			return err
		}
		return l.mayVerify(ctx, policy.Repository)
	}
	return nil
}

// rehearseFounding proves that a new cluster has a namespace, and a place for
// the backups that it is to have by default and for its log.
func (l *Executor) rehearseFounding(ctx context.Context, s ops.State) error {
	if err := preflight.FindNamespace(ctx, l.Client, l.Namespace); err != nil {
		return err
	}
	if err := l.mayArchive(ctx, s); err != nil {
		return err
	}
	url := s.Cluster.Spec.Backup.Repository
	if url == "" || !planner.Verbs().Bootstraps(s.Operation) {
		return nil
	}
	_, err := l.findRepository(ctx, url)
	return err
}

// rehearseBackup proves that a backup of that many bytes can be written, and that the full one is there that it adds
// to, if any.
func (l *Executor) rehearseBackup(ctx context.Context, s ops.State, bytes int64, parent string) error {
	url := s.Operation.Spec.Repository
	return l.rehearse(ctx, s, url, func(r repository.Repository) error {
		hint := "name a repository that can be written to"
		if s.Verb() != v1alpha1.VerbBackup {
			hint += "; --skip-backup goes on without a backup"
		}
		free, err := r.Probe(ctx)
		if err == nil && parent != "" {
			if _, err := r.Get(ctx, parent); err != nil {
				return &ops.Error{Kind: ops.Refused, Check: "incremental", Err: err,
					Message: fmt.Sprintf("backup %s can't be added to; nothing was changed", parent),
					Hint:    fmt.Sprintf("take a full backup: kubectl dbop backup %s --repository %s", s.Cluster.Name, url)}
			}
			bytes = 0 // what changed may be little
		}
		switch {
		case err != nil:
			return &ops.Error{Kind: ops.Refused, Check: "repository", Message: "no backup can be written to " + url +
				"; nothing was changed", Hint: hint, Err: err}
		case free >= 0 && free < bytes:
			return &ops.Error{Kind: ops.Refused, Check: "repository-space", Hint: "delete old backups, make room there, or " +
				hint, Err: repository.ErrNoSpace,
				Message: fmt.Sprintf("%s has %d bytes free, and the backup needs about %d; nothing was changed", url,
					free, bytes)}
		}
		return nil
	})
}

// rehearseLoad proves that the backup to restore is there and can be loaded.
// The backup that the operation itself is about to make is not there yet.
func (l *Executor) rehearseLoad(ctx context.Context, s ops.State) error {
	source := ops.IncarnationSource(s.Operation)
	if source.Repository == "" || source.Backup == s.Operation.Spec.Backup ||
		ops.Converts(s.Operation) {
		return nil
	}
	return l.rehearse(ctx, s, source.Repository, func(r repository.Repository) error {
		m, err := r.Get(ctx, source.Backup)
		if err != nil {
			return &ops.Error{Kind: ops.Refused, Check: "backup",
				Message: fmt.Sprintf("backup %s can't be restored from %s; nothing was changed", source.Backup,
					source.Repository),
				Hint: "kubectl dbop backup list --repository " + source.Repository, Err: err}
		}
		if err := l.loadable(m, s.Cluster.Spec.Version); err != nil {
			return err
		}
		if _, err := (&planner.Windows{}).Resolve(ctx, l.Engine, r, m, source.Target); err != nil {
			return ops.Refusal(err)
		}
		from, err := l.sourceOf(ctx, source.Repository, m)
		if err != nil || !from.itself {
			return err
		}
		return l.roomFor(ctx, r, s.Cluster, m)
	})
}

// mayVerify refuses a verification of backups that nobody in the cluster can read.
func (l *Executor) mayVerify(ctx context.Context, url string) error {
	at, err := ops.ParseRepository(url)
	if err != nil || at.Kind != repository.KindNamed {
		return err
	}
	d, err := (&opener.Repositories{Client: l.Client}).Describe(ctx, l.Namespace, at.Name)
	if err != nil || d.Plain || d.Identity {
		return err
	}
	return &ops.Error{Kind: ops.Refused, Check: "key",
		Message: fmt.Sprintf("backups in %s are encrypted, and namespace %s has no key that reads them, so none can be "+
			"verified; nothing was changed", d.Name, l.Namespace),
		Hint: "leave the verification out, or give the namespace the key: " + giveKey(d)}
}

// giveKey is the command that gives a namespace the secret key of a repository.
func giveKey(d bucket.Description) string {
	return fmt.Sprintf("kubectl dbop repository add %s --url %s --identity-file FILE", d.Name, d.URL)
}

// rehearse opens a repository for a check. A dry run makes no helper pod: it
// observes only for the claim.
func (l *Executor) rehearse(ctx context.Context, s ops.State, url string,
	check func(repository.Repository) error) error {
	at, err := l.findRepository(ctx, url)
	if err != nil || l.ReadOnly && at.Kind != repository.KindDirectory && l.Mounted[at.String()] == "" {
		return err
	}
	r, err := l.repositories(s.Cluster).Open(ctx, l.Namespace, url)
	if err != nil {
		return err
	}
	defer closing(r)
	return check(r)
}

// findRepository refuses a URL that no repository can have, and a claim or a
// named repository that does not exist, before a pod waits for it. A claim that
// waits for its first consumer exists. Without the right to read claims only the URL is judged.
func (l *Executor) findRepository(ctx context.Context, url string) (repository.Location, error) {
	at, err := ops.ParseRepository(url)
	if err != nil || at.Kind == repository.KindDirectory || l.Mounted[at.String()] != "" {
		return at, err
	}
	on, _, err := l.claimOf(ctx, url)
	if err != nil || on.Kind != repository.KindClaim {
		return at, err
	}
	if err := workload.FindClaim(ctx, l.Client, l.Namespace, on.Claim); errors.Is(err, kube.ErrNotFound) {
		return at, &ops.Error{Kind: ops.Refused, Check: "claim",
			Message: fmt.Sprintf("there is no persistentvolumeclaim %s in namespace %s, which %s names", on.Claim,
				l.Namespace, url),
			Hint: "create that claim, or name another repository"}
	}
	return at, nil
}

// findClass refuses a storage class that does not exist, where a volume is to
// be made of it: no dry run of the API server checks that, and the members
// would wait for their volumes.
func (l *Executor) findClass(ctx context.Context, s ops.State, members []string) error {
	name := s.Cluster.Spec.Storage.ClassName
	made := func(m string) bool { return !s.Kube.Member(m).Volume.Exists }
	if name == nil || *name == "" || !slices.ContainsFunc(members, made) {
		return nil
	}
	found, others, err := preflight.FindClass(ctx, l.Client, *name)
	if err != nil || found {
		return err
	}
	hint := "name one that exists: " + strings.Join(others, ", ")
	if len(others) == 0 {
		hint = "ask an administrator for a storage class: the Kubernetes cluster has none"
	}
	return &ops.Error{Kind: ops.Refused, Check: "storage-class", Hint: hint,
		Message: fmt.Sprintf("there is no storage class %s, so %s can't have volumes; nothing was changed", *name,
			s.Cluster.Name)}
}
