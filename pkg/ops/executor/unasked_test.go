package executor

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// TestReadAsAllowed: a person who may read no secret is shown what Kubernetes says,
// and what could not be read; a command that acts is refused.
func TestReadAsAllowed(t *testing.T) {
	t.Parallel()
	b := opstest.NewBench(t)
	b.Founded(2, "id")
	running(b, "db-1", "db-2")
	opstest.Edit(b, &corev1.Pod{}, "db-1-0", func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "",
		errors.New(`User "ada" cannot get resource "secrets"`))
	b.Server.API = interceptor.NewClient(b.Server.API, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if _, ok := l.(*corev1.SecretList); ok {
				return denied
			}
			return c.List(ctx, l, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if _, ok := o.(*corev1.Secret); ok {
				return denied
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	if _, err := liveOf(b).Observe(t.Context()); err == nil {
		t.Error("who acts observes without asking the members")
	}
	l := liveOf(b)
	ReadAsAllowed(l)
	s := observation(b, l)
	v := health.Assess(opstest.Stub{}, s, planner.Verbs())
	if v.Level != health.Unknown || v.Headline != "1 of 2 pods are ready, and nobody asked the members" {
		t.Errorf("%+v", v)
	}
	for _, want := range []string{"members were not asked: ", "secrets were not examined", "db-2: its pod is not ready"} {
		if !strings.Contains(strings.Join(v.Problems, "\n"), want) {
			t.Errorf("%q is not told: %q", want, v.Problems)
		}
	}
}

// TestReadAsAllowedToDial: the right to forward ports is one of those that may be missing.
func TestReadAsAllowedToDial(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{true, false} {
		l := New(Config{Client: opstest.NewBench(t).Client()})
		if allowed {
			ReadAsAllowed(l)
		}
		s := opstest.Well(3)
		l.denied.Store(&kube.ForbiddenError{Verb: "create", Resource: "pods/portforward", Namespace: "shop", User: "ada"})
		if err := l.withoutRight(&s, nil); err != nil || (s.Unasked == "") == allowed || s.View.Quorum == allowed {
			t.Errorf("allowed %v: %q, %+v, %v", allowed, s.Unasked, s.View, err)
		}
		if err := l.withoutRight(&s, context.Canceled); err == nil && !allowed {
			t.Error("another error is lost")
		}
	}
}
