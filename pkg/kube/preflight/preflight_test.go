package preflight

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// reviews answers access reviews by a rule, and counts them.
func reviews(asked *atomic.Int32, may func(authorizationv1.ResourceAttributes) bool) interceptor.Funcs {
	return interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, o client.Object,
		_ ...client.CreateOption) error {
		review, ok := o.(*authorizationv1.SelfSubjectAccessReview)
		if !ok {
			return errors.New("something was created")
		}
		asked.Add(1)
		review.Status.Allowed = may(*review.Spec.ResourceAttributes)
		return nil
	}}
}

func class(name string, isDefault, expandable bool, made time.Time) *storagev1.StorageClass {
	c := &storagev1.StorageClass{AllowVolumeExpansion: &expandable}
	c.Name, c.CreationTimestamp = name, metav1.NewTime(made)
	if isDefault {
		c.Annotations = map[string]string{defaultClass: "true"}
	}
	return c
}

func TestPreflight(t *testing.T) {
	ns, quota, claim := &corev1.Namespace{}, &corev1.ResourceQuota{}, &corev1.PersistentVolumeClaim{}
	ns.Name, ns.Labels = "shop", map[string]string{podSecurityLevel: "restricted"}
	quota.Namespace, quota.Name = "shop", "small"
	quota.Status.Hard = corev1.ResourceList{"pods": resource.MustParse("4"), "cpu": resource.MustParse("2")}
	quota.Status.Used = corev1.ResourceList{"pods": resource.MustParse("1"), "cpu": resource.MustParse("500m")}
	claim.Namespace, claim.Name = "shop", "backups"
	limits := &corev1.LimitRange{}
	limits.Namespace, limits.Name = "shop", "bounds"
	limits.Spec.Limits = []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
		Min: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}}
	created := time.Unix(1000, 0)
	var asked atomic.Int32
	c, _ := kubetest.New(t, reviews(&asked, func(a authorizationv1.ResourceAttributes) bool {
		return a.Namespace == "shop" && (a.Resource != "pods" || a.Subresource != "portforward" || a.Verb != "create")
	}), ns, quota, limits, claim, class("old", true, false, created), class("new", true, true, created.Add(time.Hour)),
		class("other", false, false, created))
	// A dry run asks too: nothing is stored by it.
	c = kube.Wrap(c.API, kube.Options{DryRun: kube.DryRunClient})
	got, err := Check(t.Context(), c, "shop", "backups")
	if err != nil {
		t.Fatal(err)
	}
	want := Report{
		Namespace: Namespace{Name: "shop", Exists: true, PodSecurity: "restricted"},
		Missing:   []Right{{Verb: "create", Resource: "pods/portforward", Role: "dbop-members"}},
		Classes:   Classes{Names: []string{"new", "old", "other"}, Default: "new", Expandable: true},
		Quotas:    []string{"small: cpu 500m of 2, pods 1 of 4"},
		Limits:    []Limit{{Range: "bounds", LimitRangeItem: limits.Spec.Limits[0]}},
		Claim:     &Claim{Name: "backups", Exists: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if int(asked.Load()) != len(Rights()) {
		t.Errorf("%d reviews for %d rights", asked.Load(), len(Rights()))
	}
}

func TestPreflightOfNothing(t *testing.T) {
	var asked atomic.Int32
	c, _ := kubetest.New(t, reviews(&asked, func(authorizationv1.ResourceAttributes) bool { return true }))
	got, err := Check(t.Context(), c, "shop", "backups")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Report{Namespace: Namespace{Name: "shop"}, Claim: &Claim{Name: "backups"}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPreflightWithoutRightsToRead: what belongs to no namespace need not be readable.
func TestPreflightWithoutRightsToRead(t *testing.T) {
	var asked atomic.Int32
	funcs := reviews(&asked, func(authorizationv1.ResourceAttributes) bool { return false })
	forbidden := func(what string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", errors.New(`User "ada" cannot read it`))
	}
	funcs.Get = func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return forbidden("objects")
	}
	funcs.List = func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return forbidden("lists")
	}
	c, _ := kubetest.New(t, funcs)
	got, err := Check(t.Context(), c, "shop", "backups")
	if err != nil {
		t.Fatal(err)
	}
	if got.Namespace.Unknown == "" || got.Namespace.Exists || got.Classes.Unknown == "" || got.QuotasUnknown == "" ||
		got.LimitsUnknown == "" || got.Claim.Unknown == "" || len(got.Missing) != len(Rights()) {
		t.Errorf("%+v", got)
	}
}

func TestPreflightFailsWithTheServer(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object,
		...client.CreateOption) error {
		return apierrors.NewInternalError(errors.New("overloaded"))
	}})
	if _, err := Check(t.Context(), c, "shop", ""); err == nil {
		t.Error("no error")
	}
}
