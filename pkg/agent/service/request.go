//go:build linux

package service

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// api speaks to the API server about one service. Its credentials are read when it is opened: Kubernetes renews them.
type api struct {
	client *http.Client
	url    string
	token  string
}

// mostAnswer bounds what is read of an answer.
const mostAnswer = 1 << 20

// manager is what the API server notes of who wrote a field.
const manager = "dbop-agent"

func (s Service) open() (*api, error) {
	authority, err := os.ReadFile(filepath.Join(s.Credentials, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the authority of the API server: %w", err)
	}
	token, err := os.ReadFile(filepath.Join(s.Credentials, "token"))
	if err != nil {
		return nil, fmt.Errorf("read the token for the API server: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, errors.New("read the authority of the API server: it is no certificate")
	}
	server := s.Server
	if server == "" {
		server = "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	}
	return &api{
		client: &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}},
		url: server + "/api/v1/namespaces/" + url.PathEscape(s.Namespace) + "/services/" + url.PathEscape(s.Name) +
			"?fieldManager=" + manager,
		token: strings.TrimSpace(string(token)),
	}, nil
}

func (a *api) close() { a.client.CloseIdleConnections() }

func (a *api) get(ctx context.Context) (have found, err error) {
	status, body, err := a.send(ctx, http.MethodGet, nil)
	if err == nil && status != http.StatusOK {
		err = refusal(status, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &have)
	}
	if err != nil {
		return have, fmt.Errorf("read the service of clients: %w", err)
	}
	return have, nil
}

// patch changes the service, unless it is another one than was read.
func (a *api) patch(ctx context.Context, change map[string]any) (conflict bool, err error) {
	content, err := json.Marshal(change)
	if err != nil {
		return false, fmt.Errorf("change the service of clients: %w", err)
	}
	status, body, err := a.send(ctx, http.MethodPatch, content)
	switch {
	case err == nil && status == http.StatusConflict:
		return true, nil
	case err == nil && status != http.StatusOK:
		err = refusal(status, body)
	}
	if err != nil {
		return false, fmt.Errorf("change the service of clients: %w", err)
	}
	return false, nil
}

func (a *api) send(ctx context.Context, method string, content []byte) (status int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, a.url, bytes.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Accept", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	got, err := a.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer got.Body.Close() //nolint:errcheck // it was read
	body, err = io.ReadAll(io.LimitReader(got.Body, mostAnswer))
	return got.StatusCode, body, err
}

// refusal is what the API server says of a request that it does not carry out.
func refusal(status int, body []byte) error {
	var said struct {
		Message string `json:"message"`
	}
	text := ""
	if json.Unmarshal(body, &said) == nil && said.Message != "" {
		text = ": " + said.Message
	}
	if status == http.StatusUnauthorized {
		text += ": a token ends with its service account, and Kubernetes replaces it within an hour, or with the pod"
	}
	return fmt.Errorf("the API server answers %d%s", status, text)
}
