package executor

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestObserveNamesTheMissingRight: who may not read the client certificate is
// told so, and not that the members are unfit.
func TestObserveNamesTheMissingRight(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(2, "id")
	running(b, "db-1", "db-2")
	b.Server.API = interceptor.NewClient(b.Server.Raw, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if _, ok := o.(*corev1.Secret); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, errors.New("no such right"))
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*corev1.SecretList); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no such right"))
			}
			return c.List(ctx, l, opts...)
		},
	})
	_, err := liveOf(b).Observe(t.Context())
	if forbidden, ok := errors.AsType[*kube.ForbiddenError](err); !ok || forbidden.Resource != "secrets" {
		t.Errorf("error %v", err)
	}
}
