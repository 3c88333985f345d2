package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// mostInitialSQL is how many bytes of SQL an agent takes: in a request, that it reads whole.
const mostInitialSQL = 512 << 10

// initialSQL has the initial SQL carried out, and then writes down that it was. What the database refuses leaves
// nothing behind, and can be corrected. A repeat carries nothing out again: the database tells.
func (l *Executor) initialSQL(ctx context.Context, r engine.SQLRunner, t task) (ops.Result, error) {
	from := t.Cluster.Spec.InitialSQL
	text, err := l.readSQL(ctx, t.Cluster)
	if err != nil {
		return ops.Result{}, err
	}
	err = r.RunOnce(ctx, rules.UserNamed(t.State, from.Owner()), text)
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok {
		err = l.refuseSQL(t.Cluster, refusal.Reason)
	}
	if err == nil {
		err = l.note(ctx, (*v1alpha1.Bootstrap).Finish)
	}
	return done(v1alpha1.FactInitialSQL, err)
}

// readSQL reads the initial SQL of a cluster out of its secret.
func (l *Executor) readSQL(ctx context.Context, c *v1alpha1.DatabaseCluster) (string, error) {
	s := &corev1.Secret{}
	err := l.Client.API.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: c.Spec.InitialSQL.Secret}, s)
	switch {
	case apierrors.IsNotFound(err):
		return "", l.refuseSQL(c, "there is no such secret")
	case err != nil:
		return "", fmt.Errorf("read the initial SQL of cluster %s/%s: %w", l.Namespace, c.Name, err)
	}
	if err := l.Client.Behalf.CheckSecret(ctx, s, c); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Data)) {
		if strings.HasSuffix(name, ".sql") {
			text.Write(s.Data[name])
			text.WriteString("\n;\n") // the last statement of a file may lack it, or end in a comment
		}
	}
	switch {
	case text.Len() == 0:
		return "", l.refuseSQL(c, "it has no entry whose name ends in .sql")
	case text.Len() > mostInitialSQL:
		return "", l.refuseSQL(c, fmt.Sprintf("it holds %d bytes of SQL, and %d are the most", text.Len(), mostInitialSQL))
	}
	return text.String(), nil
}

// refuseSQL is the error of what a person must correct.
func (l *Executor) refuseSQL(c *v1alpha1.DatabaseCluster, why string) error {
	return &ops.Error{Kind: ops.Refused, Check: "initial-sql",
		Message: fmt.Sprintf("the initial SQL of secret %s/%s was not carried out: %s", l.Namespace,
			c.Spec.InitialSQL.Secret, why),
		Hint: "correct the secret, then: kubectl dbop resume " + c.Name}
}
