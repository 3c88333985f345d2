package kube

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// Whoami is the user as the API server names them, "" if it does not say. It
// is for the record only; nothing is decided by it.
func (c *Client) Whoami(ctx context.Context) string {
	r := &authenticationv1.SelfSubjectReview{}
	if err := c.API.Create(ctx, r); err != nil {
		return ""
	}
	return r.Status.UserInfo.Username
}
