package api

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
	"sync/atomic"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Client speaks with the agent of one member.
type Client struct {
	name   protocol.MemberID
	scheme string
	http   *http.Client
	shown  atomic.Pointer[x509.Certificate]
}

// NewClient returns a client. The connections come from dial: a port-forward, for example. The agent must prove that it
// is the member of that name; config holds the certificate of the client and the authority of the agents. Without a
// config nobody proves anything: that is for an agent that answers on its own loopback alone.
func NewClient(member protocol.MemberID, dial func(context.Context) (net.Conn, error), config *tls.Config) *Client {
	transport := &http.Transport{
		MaxIdleConns: 1, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	}
	c := &Client{name: member, scheme: "http", http: &http.Client{Transport: transport}}
	if config != nil {
		transport.TLSClientConfig = config.Clone()
		transport.TLSClientConfig.ServerName, c.scheme = string(member), "https"
	}
	return c
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Shown is the certificate that the agent showed when it was last reached, valid or not; nil before, and without TLS.
func (c *Client) Shown() *x509.Certificate { return c.shown.Load() }

// Status asks one member, of itself and of the cluster.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	return s, c.do(ctx, http.MethodGet, "/v1/status", nil, &s)
}

// Switchover makes another member the primary, and returns when that serves. A Refused error changed nothing; after
// ErrUnknown ask for the status.
func (c *Client) Switchover(ctx context.Context, s Switchover) error {
	return c.do(ctx, http.MethodPost, "/v1/switchover", s, nil)
}

// Failover appoints a member although acknowledged writes may be lost.
func (c *Client) Failover(ctx context.Context, f Failover) error {
	return c.do(ctx, http.MethodPost, "/v1/failover", f, nil)
}

// Recover has this very member leave its incarnation; it begins the next one when it is started with that token. Again
// has no effect.
func (c *Client) Recover(ctx context.Context, r Recover) error {
	return c.do(ctx, http.MethodPost, "/v1/recover", r, nil)
}

// Reinit removes the unfit copy of a member, and returns once that is gone. The member then clones the primary.
func (c *Client) Reinit(ctx context.Context, id protocol.MemberID) error {
	return c.do(ctx, http.MethodPost, "/v1/members/"+string(id)+"/reinit", nil, nil)
}

// AddMember adds a member; again has no effect.
func (c *Client) AddMember(ctx context.Context, m NewMember) error {
	return c.do(ctx, http.MethodPost, "/v1/members", m, nil)
}

// RemoveMember takes a member out of the group, and returns once the group has forgotten it; again has no effect.
func (c *Client) RemoveMember(ctx context.Context, id protocol.MemberID) error {
	return c.do(ctx, http.MethodDelete, "/v1/members/"+string(id), nil, nil)
}

// Configure replaces the settings whose version is one lower.
func (c *Client) Configure(ctx context.Context, s protocol.Settings) error {
	return c.do(ctx, http.MethodPut, "/v1/settings", s, nil)
}

// StartHold begins a hold, EndHold ends one; again has no effect. A pause is a hold without an end. One that is in
// force is replaced by a hold with the next number.
func (c *Client) StartHold(ctx context.Context, h Hold) error {
	return c.do(ctx, http.MethodPost, "/v1/holds", h, nil)
}

// EndHold ends a hold.
func (c *Client) EndHold(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/v1/holds/"+id, nil, nil)
}

func (c *Client) do(ctx context.Context, method, path string, body, into any) error {
	got, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer got.Body.Close() //nolint:errcheck // it was read
	return c.take(got, into)
}

// send asks, and leaves the answer to be read.
func (c *Client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	if body == nil {
		return c.sendBytes(ctx, method, path, nil)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("ask the agent of %s: %w", c.name, err)
	}
	return c.sendBytes(ctx, method, path, raw)
}

// sendBytes does the same with a body as it is; nil for none.
func (c *Client) sendBytes(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	var sent io.Reader
	if body != nil {
		sent = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.scheme+"://"+string(c.name)+path, sent)
	if err != nil {
		return nil, fmt.Errorf("ask the agent of %s: %w", c.name, err)
	}
	got, err := c.http.Do(r)
	var refused *tls.CertificateVerificationError
	switch {
	case err == nil && got.TLS != nil:
		c.shown.Store(got.TLS.PeerCertificates[0])
	case errors.As(err, &refused) && len(refused.UnverifiedCertificates) > 0:
		c.shown.Store(refused.UnverifiedCertificates[0])
	}
	if err != nil {
		return nil, fmt.Errorf("ask the agent of %s: %w", c.name, err)
	}
	return got, nil
}

// take reads a short answer.
func (c *Client) take(got *http.Response, into any) error {
	raw, err := io.ReadAll(io.LimitReader(got.Body, mostBody))
	if err != nil {
		return fmt.Errorf("ask the agent of %s: %w", c.name, err)
	}
	if got.StatusCode != http.StatusOK {
		var p problem
		if err := json.Unmarshal(raw, &p); err != nil {
			return fmt.Errorf("ask the agent of %s: it answers %s", c.name, got.Status)
		}
		return fmt.Errorf("ask the agent of %s: %w", c.name, p.err())
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read the answer of the agent of %s: %w", c.name, err)
	}
	return nil
}
