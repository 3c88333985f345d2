package kube_test

import (
	"errors"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
)

func TestForbidden(t *testing.T) {
	tests := []struct {
		name, message, want, hint string
	}{
		{
			"a right is missing",
			`configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" in the namespace "shop"`,
			`user "bob" may not list configmaps in namespace shop`,
			`needs: verb "list" on "configmaps" in namespace "shop"; the stock ClusterRole edit grants it: kubectl create rolebinding dbop-edit --clusterrole=edit --user=bob --namespace=shop`,
		},
		{
			"a service account lacks it",
			`configmaps is forbidden: User "system:serviceaccount:ci:robot" cannot list resource "configmaps" in API group "" in the namespace "shop"`,
			`user "system:serviceaccount:ci:robot" may not list configmaps in namespace shop`,
			`needs: verb "list" on "configmaps" in namespace "shop"; the stock ClusterRole edit grants it: kubectl create rolebinding dbop-edit --clusterrole=edit --serviceaccount=ci:robot --namespace=shop`,
		},
		{
			"admission refuses",
			`pods "db-1-0" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`,
			`list configmaps in namespace shop: admission refused it: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3`,
			"ask an administrator about the quota or policy that it names",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newAPIServer(t)
			s.answer = &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden,
				Code: http.StatusForbidden, Message: tt.message}
			_, err := store.NewConfigMaps(s.client(t, kube.Options{})).ListClusters(t.Context(), "shop", "")
			if _, ok := errors.AsType[*kube.ForbiddenError](err); !ok {
				t.Fatalf("got %v, want a ForbiddenError", err)
			}
			if err.Error() != tt.want {
				t.Errorf("message %q, want %q", err, tt.want)
			}
			if got := kube.Hint(err); got != tt.hint {
				t.Errorf("hint %q, want %q", got, tt.hint)
			}
		})
	}
}
