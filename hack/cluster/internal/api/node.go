package api

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// node is as much of a Node as the driver reads.
type node struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status struct {
		Conditions []struct {
			Type          string    `json:"type"`
			Status        string    `json:"status"`
			LastHeartbeat time.Time `json:"lastHeartbeatTime"`
		} `json:"conditions"`
	} `json:"status"`
}

// readySince is the moment the node last said that it is ready, and zero if
// it is not.
func (n node) readySince() time.Time {
	for _, condition := range n.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return condition.LastHeartbeat
		}
	}
	return time.Time{}
}

// Nodes says of each registered node when it last reported to be ready, in
// whole seconds. It is zero for one that is not ready. A node that just died
// still appears ready; only the time tells.
func (c *Client) Nodes(ctx context.Context) (map[string]time.Time, error) {
	var list struct {
		Items []node `json:"items"`
	}
	if err := c.do(ctx, http.MethodGet, "/api/v1/nodes", &list); err != nil {
		return nil, err
	}
	ready := map[string]time.Time{}
	for _, item := range list.Items {
		ready[item.Metadata.Name] = item.readySince()
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
