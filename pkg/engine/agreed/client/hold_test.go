package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestHold: a hold is never missing while another one takes its place, unless an agent is too old for that.
func TestHold(t *testing.T) {
	t.Parallel()
	before := map[string]protocol.Hold{asked: {By: "me", Number: 4}}
	for name, c := range map[string]struct {
		status api.Status
		want   []string
	}{
		"none is in force": {api.Status{ReplacesHolds: true}, []string{"POST 0"}},
		"one is in force":  {api.Status{ReplacesHolds: true, Holds: before}, []string{"POST 5"}},
		"an older agent":   {api.Status{Holds: before}, []string{"DELETE", "POST 0"}},
	} {
		var got []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodGet:
				_ = json.NewEncoder(w).Encode(c.status)
				return
			case http.MethodPost:
				var h api.Hold
				_ = json.NewDecoder(r.Body).Decode(&h)
				if h.ID != asked || h.For != time.Hour || h.By != "you" || h.Why != "work" {
					t.Errorf("%s: it asks for %+v", name, h)
				}
				got = append(got, fmt.Sprintf("POST %d", h.Number))
			default:
				got = append(got, r.Method)
			}
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
		if err := s.Hold(t.Context(), engine.Hold{For: time.Hour, By: "you", Why: "work"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
