package kube_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestReadsArePatientAndWritesAreNot(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		reads  int
		writes int
	}{
		{"internal error", apierrors.NewInternalError(errors.New("leader changed")), kube.ReadTries, 1},
		{"throttled", apierrors.NewTooManyRequests("later", 1), kube.ReadTries, 1},
		{"unavailable", apierrors.NewServiceUnavailable("starting"), kube.ReadTries, 1},
		{"timed out by the server", apierrors.NewTimeoutError("etcd", 1), kube.ReadTries, 1},
		{"reset", syscall.ECONNRESET, kube.ReadTries, 1},
		{"cut off", io.EOF, kube.ReadTries, 1},
		{"nobody listens", syscall.ECONNREFUSED, 1, 1},
		{"forbidden", apierrors.NewForbidden(corev1.Resource("configmaps"), "m", nil), 1, 1},
		{"conflict", apierrors.NewConflict(corev1.Resource("configmaps"), "m", errors.New("changed")), 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reads, writes := 0, 0
				c1, _ := kubetest.New(t, interceptor.Funcs{
					Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
						reads++
						return c.err
					},
					Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
						writes++
						return c.err
					},
				})
				m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "m"}}
				if err := c1.API.Get(t.Context(), client.ObjectKeyFromObject(m), m); !errors.Is(err, c.err) {
					t.Errorf("read: %v", err)
				}
				if err := c1.API.Create(t.Context(), m); !errors.Is(err, c.err) {
					t.Errorf("write: %v", err)
				}
				if reads != c.reads || writes != c.writes {
					t.Errorf("%d reads and %d writes, want %d and %d", reads, writes, c.reads, c.writes)
				}
			})
		})
	}
}

func TestRequestsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		c, _ := kubetest.New(t, interceptor.Funcs{
			Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object,
				_ ...client.GetOption) error {
				return hang(ctx)
			},
			Update: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ ...client.UpdateOption) error {
				return hang(ctx)
			},
		})
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "m"}}
		for name, request := range map[string]func(context.Context) error{
			"read":  func(ctx context.Context) error { return c.API.Get(ctx, client.ObjectKeyFromObject(m), m) },
			"write": func(ctx context.Context) error { return c.API.Update(ctx, m) },
		} {
			began := time.Now()
			err := request(t.Context())
			if took := time.Since(began); took != kube.AnswerWithin || !errors.Is(err, kube.ErrTimeout) {
				t.Errorf("%s: %v after %s", name, err, took)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: one request without an answer is reported as the end of the caller's time: %v", name, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := request(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "in time") {
				t.Errorf("%s: the caller's own end is not told: %v", name, err)
			}
			cancel()
		}
	})
}
