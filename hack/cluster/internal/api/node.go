package api

import (
	"context"
	"errors"
	"net/http"
)

// node is as much of a Node as the driver looks at.
type node struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

// ready reports the node's own condition.
func (n node) ready() bool {
	for _, condition := range n.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == "True"
		}
	}
	return false
}

// Nodes says of each registered node whether it is ready.
func (c *Client) Nodes(ctx context.Context) (map[string]bool, error) {
	var list struct {
		Items []node `json:"items"`
	}
	if err := c.do(ctx, http.MethodGet, "/api/v1/nodes", &list); err != nil {
		return nil, err
	}
	ready := map[string]bool{}
	for _, item := range list.Items {
		ready[item.Metadata.Name] = item.ready()
	}
	return ready, nil
}

// DeleteNode removes a node from the API; one that is not there is fine.
func (c *Client) DeleteNode(ctx context.Context, name string) error {
	err := c.do(ctx, http.MethodDelete, "/api/v1/nodes/"+name, nil)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
