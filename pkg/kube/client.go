// Package kube talks to one Kubernetes API server: the client, its dry run and
// guards, errors that say what was attempted on what, server-side apply, and the
// labels and annotations of all objects. What the objects mean is in the
// packages below it. It knows no engine.
package kube

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// DryRun says what becomes of writes.
type DryRun string

// The modes.
const (
	// DryRunNone performs writes.
	DryRunNone DryRun = ""
	// DryRunClient refuses every write with ErrDryRun, before a request is made.
	DryRunClient DryRun = "client"
	// DryRunServer lets the API server check and admit writes, but not store them.
	DryRunServer DryRun = "server"
)

// Options of a Client.
type Options struct {
	// UserAgent names this program and its version to the API server.
	UserAgent string
	// DryRun is enforced here and nowhere else.
	DryRun DryRun
	// Behalf limits what is done for people with other rights.
	Behalf Behalf
}

// Client is this project's view of one API server. It is safe for concurrent
// use, caches nothing and makes no discovery requests. All its errors say what
// was attempted on what, see RequestError.
type Client struct {
	API    client.WithWatch
	config *rest.Config
	meter  *meter
	Behalf Behalf
}

// New makes a Client; it makes no request.
func New(config *rest.Config, o Options) (*Client, error) {
	if config == nil {
		return nil, &ConfigError{Reason: "no API server is configured"}
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	m := &meter{}
	config = rest.CopyConfig(config)
	config.UserAgent = o.UserAgent
	// The server has priority and fairness; a limit here would only make the
	// lease compete with our own reads.
	config.QPS = -1
	// Warnings of the API server concern the author of the manifest, which is
	// this tool: they must not end up between a person's lines.
	config.WarningHandlerWithContext = rest.NoWarnings{}
	// Without a logger the library prints a stack trace to stderr after half a minute. An operator has set its own, and
	// only the first counts.
	ctrllog.SetLogger(logr.Discard())
	metered := rest.CopyConfig(config)
	metered.Wrap(m.wrap)
	api, err := client.NewWithWatch(metered, client.Options{Scheme: scheme, Mapper: newMapper()})
	if err != nil {
		return nil, &ConfigError{Reason: "the configuration of the API server can't be used", Err: err}
	}
	return &Client{API: guarded(api, o.DryRun, config.Host), config: config, meter: m, Behalf: o.Behalf}, nil
}

// Wrap makes a Client of one that exists already: an operator's, or a fake in
// tests. Its scheme must know the objects in use. Requests are not counted,
// and Now is this machine's clock.
func Wrap(api client.WithWatch, o Options) *Client {
	return &Client{API: guarded(api, o.DryRun, ""), config: &rest.Config{}, meter: &meter{}, Behalf: o.Behalf}
}

// Config returns a copy of the configuration, for connections that are not
// requests, such as port-forwards.
func (c *Client) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Now is the API server's time, as far as its answers told; before the first
// answer this machine's.
func (c *Client) Now() time.Time { return c.meter.clock.now() }

// Requests is how many requests were made so far.
func (c *Client) Requests() int64 { return c.meter.requests.Load() }

// UserAgent is what this program calls itself to API servers.
func UserAgent(version, commit string) string {
	return fmt.Sprintf("%s/%s (%s)", v1alpha1.FieldManager, version, commit)
}
