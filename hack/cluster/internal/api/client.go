// Package api asks the API server the few things that the driver wants to
// know. It speaks plain HTTP and JSON: the driver is built in seconds, which
// it would not be with a real client library.
package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Client is the administrator, talking to the API server.
type Client struct {
	http   *http.Client
	server string
}

// ErrNotFound is the server's 404.
var ErrNotFound = errors.New("not found")

// New makes a client of the authority's certificate and the caller's own.
func New(authority []byte, cert tls.Certificate) (*Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, errors.New("the certificate of the cluster's authority is not PEM")
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13},
		DisableKeepAlives: true,
	}
	return &Client{http: &http.Client{Transport: transport, Timeout: 10 * time.Second}, server: site.APIServer()}, nil
}

// Ready is nil when the API server says that it is ready.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, http.MethodGet, "/readyz", nil)
}

// Exists is nil when there is an object at path.
func (c *Client) Exists(ctx context.Context, path string) error {
	return c.do(ctx, http.MethodGet, path, nil)
}

// do sends a request and decodes the answer into result, if that is not nil.
func (c *Client) do(ctx context.Context, method, path string, result any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, nil)
	if err != nil {
		return fmt.Errorf("make a request for %s: %w", path, err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("read the API server's answer to %s %s: %w", method, path, err)
	case response.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s %s: %w", method, path, ErrNotFound)
	case response.StatusCode >= 300:
		return fmt.Errorf("%s %s: the API server says %s: %.300s", method, path, response.Status, body)
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(body, result); err != nil {
		return fmt.Errorf("decode the API server's answer to %s %s: %w", method, path, err)
	}
	return nil
}
