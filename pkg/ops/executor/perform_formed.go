package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

func (l *Executor) applyServices(ctx context.Context, t task) error {
	if err := l.checkRedirect(ctx, t.Cluster); err != nil {
		return err
	}
	if err := workload.ApplyServices(ctx, l.Client, t.Cluster, l.Engine.Ports(t.Cluster)); err != nil {
		return err
	}
	l.leadClients(ctx, t)
	return nil
}

// leadTime bounds that a service which was just made leads to the primary.
const leadTime = 5 * time.Second

// leadClients has the members lead clients to the primary at once. A service that was deleted would select nobody until
// they read it again. What fails they do by themselves, and what stays wrong is told of the service.
func (l *Executor) leadClients(ctx context.Context, t task) {
	if _, leads := t.View.Leader(); !leads || !t.Cluster.Spec.Direct() {
		return
	}
	ctx, stop := context.WithTimeout(ctx, leadTime)
	defer stop()
	session, err := l.connect(ctx, t.Cluster)
	if err != nil {
		return
	}
	if leader, ok := session.(engine.ClientLeader); ok {
		_ = leader.LeadClients(ctx)
	}
}

// createAccount makes what agents lead clients with, before they are told to.
func (l *Executor) createAccount(ctx context.Context, t task) (ops.Result, error) {
	return done(v1alpha1.FactAccount, workload.ApplyAccount(ctx, l.Client, t.Cluster))
}

// dropAccount deletes it once no agent leads clients any more.
func (l *Executor) dropAccount(ctx context.Context, t task) (ops.Result, error) {
	return done(v1alpha1.FactAccountDropped, workload.DeleteAccount(ctx, l.Client, t.Cluster))
}

func (l *Executor) applyBudget(ctx context.Context, t task) error {
	return workload.ApplyBudget(ctx, l.Client, t.Cluster, t.Budget)
}

// recordFormed fixes the identity. A restored initial member must first serve what
// the backup held.
func (l *Executor) recordFormed(ctx context.Context, t task) error {
	if f := t.Bootstrap(); t.Cluster.Spec.RestoreFrom != nil && f.ExpectedProof != "" {
		session, err := l.connect(ctx, t.Cluster)
		if err != nil {
			return err
		}
		if err := l.servesBackup(ctx, session, f); err != nil {
			return err
		}
	}
	return l.change(ctx, func(c *v1alpha1.DatabaseCluster) { c.Status.Bootstrap.ClusterID = t.View.ClusterIDs[0] })
}

// servesBackup asks the initial member. Its word for the very data that was seen to be
// the backup's is enough; where it can't give it, all its keys are read.
func (l *Executor) servesBackup(ctx context.Context, session engine.Session, f v1alpha1.Bootstrap) error {
	initial := f.Members[0]
	if a, ok := session.(engine.HashVerifier); ok && f.ExpectedMark != "" {
		if yes, err := a.VerifyHash(ctx, initial, f.ExpectedMark); err == nil && yes {
			return nil
		}
	}
	got, err := session.Fingerprint(ctx, initial)
	if err != nil {
		return fmt.Errorf("compare the restored data of %s: %w", initial, err)
	}
	if l.Engine.CompareProofs(engine.Proof(f.ExpectedProof), got.Proof) != engine.MatchSame {
		return &ops.Error{Kind: ops.NeedsHuman, Check: "restored-data",
			Message: fmt.Sprintf("%s serves %s, the backup held %s", initial, got.Proof.Short(),
				engine.Proof(f.ExpectedProof).Short()),
			Hint: "find out whether a client wrote already; if none did, restore another backup into a new cluster: " +
				"kubectl dbop backup list"}
	}
	return nil
}
