package kube

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// CheckBeforeDelete returns this client, which asks check right before every deletion and
// does not delete if that fails. Each deletion names the identity that was seen
// before the question, so what another holder makes later is out of its reach.
func (c *Client) CheckBeforeDelete(check func(context.Context) error) *Client {
	held := *c
	held.API = interceptor.NewClient(c.API, interceptor.Funcs{
		Delete: func(ctx context.Context, api client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := check(ctx); err != nil {
				return err
			}
			return api.Delete(ctx, obj, opts...)
		},
	})
	return &held
}
