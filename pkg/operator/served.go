package operator

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// newServed asks the API server whether custom resources can be made.
func newServed(config *rest.Config, h *http.Client) (func(context.Context) (bool, error), error) {
	c, err := discovery.NewDiscoveryClientForConfigAndClient(config, h)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return func(context.Context) (bool, error) {
		list, err := c.ServerResourcesForGroupVersion(v1alpha1.GroupVersion().String())
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("ask whether custom resources are served: %w", err)
		}
		for _, r := range list.APIResources {
			if r.Kind == v1alpha1.KindDatabaseCluster && slices.Contains(r.Verbs, "create") {
				return true, nil
			}
		}
		return false, nil
	}, nil
}
