package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// described answers what its data is.
type described struct {
	contents api.Contents
	err      error
}

func (d described) Contents(context.Context) (api.Contents, error) { return d.contents, d.err }

func (d described) Copy(context.Context, io.Writer) error { return errors.New("not asked for") }

// TestFingerprint: a server that still reads its data is asked again, and one that failed is not.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agent described
		proof engine.Proof
		later bool
	}{
		"whole":       {agent: described{contents: api.Contents{Proof: "p"}}, proof: "p"},
		"still reads": {agent: described{err: api.Refused{Why: "the server has not recovered the data yet"}}, later: true},
		"failed":      {agent: described{err: errors.New("the log of timeline 1 was not used up")}},
	} {
		server := httptest.NewServer((&api.Service{Copier: test.agent}).Handler())
		t.Cleanup(server.Close)
		c := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{TLS: v1alpha1.TLS{Disabled: true}}}
		s := New(engine.Access{Cluster: c, Dial: func(ctx context.Context, _ string, _ int) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
		}})
		got, err := s.Fingerprint(t.Context(), "verify-1")
		if got.Proof != test.proof || (err == nil) != (test.proof != "") || errors.Is(err, engine.ErrNotReady) != test.later {
			t.Errorf("%s: proof %q, error %v", name, got.Proof, err)
		}
		_ = s.Close()
	}
}
