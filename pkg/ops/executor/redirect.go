package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// checkRedirect refuses to send clients to a cluster that can't take them.
func (l *Executor) checkRedirect(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	_, err := l.redirectTarget(ctx, c)
	return err
}

// redirectTarget is the cluster that clients are sent to; nil for none.
func (l *Executor) redirectTarget(ctx context.Context, c *v1alpha1.DatabaseCluster) (*v1alpha1.DatabaseCluster, error) {
	name := c.Spec.RedirectTo
	if name == "" {
		return nil, nil
	}
	to, err := l.Store.GetCluster(ctx, l.Namespace, name)
	why := ""
	switch {
	case errors.Is(err, kube.ErrNotFound):
		why = "there is no such cluster in namespace " + l.Namespace
	case err != nil:
		return nil, fmt.Errorf("read cluster %s/%s, which clients of %s are to be sent to: %w", l.Namespace, name, c.Name,
			err)
	case name == c.Name:
		why = "it is the cluster itself"
	case to.Spec.Engine != c.Spec.Engine:
		why = "it is of " + to.Spec.Engine
	case to.Spec.Direct():
		why = "it leads clients straight to its primary, and its agent would change its own service alone: kubectl dbop " +
			"configure " + name + " --routing proxied"
	case to.Spec.RedirectTo != "":
		why = "its own clients are sent to " + to.Spec.RedirectTo
	default:
		return to, nil
	}
	return nil, &ops.Error{Kind: ops.Refused, Check: "redirect", Message: fmt.Sprintf("clients of %s can't be sent to "+
		"%s: %s", c.Name, name, why), Hint: "kubectl dbop cancel " + c.Name + " takes that back"}
}

// rehearseRedirect refuses to send clients where nobody lets them in, before anything is changed: to a cluster that
// still follows another one, or back to one that does.
func (l *Executor) rehearseRedirect(ctx context.Context, s ops.State) error {
	o, c := s.Operation, s.Cluster
	if o == nil || o.Spec.Change == nil || o.Spec.Change.RedirectTo == nil {
		return nil
	}
	if c.Spec.RedirectTo == "" {
		return noEntry(c.Name, s, fmt.Sprintf("kubectl dbop upgrade %s --online --back --into %s goes back, with all that "+
			"was written since", c.Name, s.Kube.SentTo))
	}
	to, err := l.redirectTarget(ctx, c)
	if err != nil || to.Spec.Source == nil {
		return err
	}
	config := l.Config
	config.Name, config.Wanted = to.Name, nil
	other := New(config)
	defer func() { _ = other.Close() }()
	there, err := other.Observe(ctx)
	if err != nil {
		return fmt.Errorf("observe %s, which clients of %s are to be sent to: %w", to.Name, c.Name, err)
	}
	hint := "first have it take over: kubectl dbop cutover " + to.Name
	if to.Predecessor() == c.Name {
		hint = fmt.Sprintf("kubectl dbop upgrade %s --online --version %s --into %s has it take over, and sends them",
			c.Name, to.Spec.Version, to.Name)
	}
	return knownEntry(to.Name, there, hint)
}

// knownEntry refuses a cluster that is not known to let clients in.
func knownEntry(name string, s ops.State, hint string) error {
	if leader, leads := s.View.Leader(); !leads || !leader.Reachable {
		return notLetIn(name, "nobody knows whether it takes writes: its primary does not answer",
			"kubectl dbop status "+name)
	}
	return noEntry(name, s, hint)
}

// noEntry refuses a cluster that is known to let nobody in.
func noEntry(name string, s ops.State, hint string) error {
	if s.View.Source != nil {
		return notLetIn(name, "it follows "+s.View.Source.Address+", and takes no writes", hint)
	}
	if leader, leads := s.View.Leader(); leads && len(leader.Closed) > 0 {
		return notLetIn(name, "it lets nobody into "+strings.Join(leader.Closed, ", "), hint)
	}
	return nil
}

func notLetIn(name, why, hint string) error {
	return &ops.Error{Kind: ops.Refused, Check: "redirect", Message: "clients can't be sent to " + name + ": " + why,
		Hint: hint}
}
