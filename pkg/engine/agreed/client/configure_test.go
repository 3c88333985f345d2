package client

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// TestConfigureTimes: the agents are asked for the times that a spec names, and say no themselves; what is no option
// stays as it is.
func TestConfigureTimes(t *testing.T) {
	t.Parallel()
	var got protocol.Settings
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			now, _ := agreed.Settings(nil)
			now.Version, now.Timing.Election = 4, 3*time.Second
			_ = json.NewEncoder(w).Encode(api.Status{Settings: now})
			return
		}
		_ = json.NewDecoder(r.Body).Decode(&got)
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	cluster := &v1alpha1.DatabaseCluster{}
	cluster.Spec.TLS.Disabled = true
	s := New(engine.Access{Cluster: cluster, Dial: func(ctx context.Context, _ string, _ int) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
	}})
	s.answered = []string{"db-1"}
	spec := v1alpha1.DatabaseClusterSpec{Config: map[string]string{"lease": "9s"}}
	if err := s.Configure(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if got.Version != 5 || got.Timing.Lease != 9*time.Second || got.Timing.Election != 3*time.Second {
		t.Errorf("the agents are asked for %+v", got)
	}
}
